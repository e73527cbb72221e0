"""The text of PDF documents, read in a process of its own: a document may be made to take all there is."""
