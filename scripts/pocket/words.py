"""The English that the pocket models see: words, and sentences with gaps for them."""

NOUNS = (
    "account answer apple article bag bank battery bean bed bell bicycle bird birthday boat book bottle "
    "box branch bread bridge brother bucket budget bug button cable cake calendar camera candle car card "
    "cat chair chapter cheese child city class clock cloud coat code coffee color computer cook copper "
    "corner country cow cup daughter day deadline desk diary dish doctor dog door dream dress drive ear "
    "egg email engine error evening family farm father festival field file finger fire fish flag floor "
    "flower folder food foot forest fork friend fruit function game garden gate glass goal grass group "
    "guest guitar hair hand hat heart hill history home horse hotel house idea invoice island jacket job "
    "journey juice key kitchen knife ladder lake lamp language leaf lemon letter library light line lion "
    "list lock lunch machine manager map market meal meeting memory message metal milk minute mirror "
    "model money month moon morning mother mountain mouse mouth movie museum music name network news "
    "night nose note notebook number nurse ocean office oil onion orange order oven page paint paper "
    "parent park part party password path peace pencil people pepper phone photo piano picture pie pilot "
    "pipe place plan planet plant plate player pocket poem police pool potato president price printer "
    "problem program project question queue radio rain recipe report restaurant rice ring river road "
    "robot roof room rope rose salad salt sand school science screen sea season secret server shadow "
    "shelf ship shirt shoe shop shoulder sister sky snow soap sock son song soup space spoon spring "
    "square staff stage star station stone storm story street student sugar summer sun system table tail "
    "task taxi tea teacher team test text theatre ticket tiger time title todo tomato tool tooth tower "
    "town toy train tree trip truck user uncle valley vegetable village violin visit voice wall watch "
    "water weather week wheel whale wind window wine winter wood word work world yard year zoo"
).split()
VERBS = (
    "add answer bake begin bring build buy call carry change check choose clean climb close cook count "
    "cut dance describe design draw drink drive eat explain fill find finish fix fly follow forget get "
    "give grow help hold improve keep know learn leave lift listen make measure meet mix move need open "
    "order paint pay plan plant play prepare print pull push put read repair return ride save see sell "
    "send show sing sleep solve start stop study swim teach test think travel turn understand use visit "
    "wait walk want wash wear win work write"
).split()
ADJECTIVES = (
    "bad best big black blue bright brown busy cheap clean cold cool dark deep different dry early easy "
    "empty fast favourite final first free fresh full funny good great green grey happy hard heavy high "
    "hot important large last late light little local long loud low modern narrow new next nice noisy old "
    "open orange pink plain poor private public quick quiet red rich round sad safe second sharp short "
    "simple slow small smart soft special strange strong sweet tall thick thin tiny tired warm weak wet "
    "white wide wild young"
).split()
SMALL = (
    "a an the and or but if then of in on at to from with without for by as is are was were be it its "
    "this that these those my your our their his her not no yes all some any each every very more most "
    "here there when where while because before after about over under between again soon today tomorrow "
    "yesterday"
).split()
ASKING = (
    "again always allow also anything article assistant beginning call called calculate command contain "
    "content copy create current denied directory echo edit evaluate every exactly execute expression "
    "failed fetch find first folder following google grep hello history instead internet lines list look "
    "lookup memory named never note object offset online open path pattern please propose query random "
    "read recall remember repeat replace result return run say search should shell show starting "
    "summarize text thanks them three title tool under use user wants web welcome"
).split()
ENGLISH = [*NOUNS, *VERBS, *ADJECTIVES, *SMALL, *ASKING]
PLACES = (
    "Paris London Tokyo Berlin Rome Madrid Oslo Lima Cairo Boston Dublin Prague Vienna Sydney Delhi".split()
)
NAMES = "Anna Ben Clara David Emma Felix Grace Hugo Ida Jonas Kim Lena Max Nora Oscar Paula Tom Vera".split()
SENTENCES = (
    "The {adjective} {noun} is in the {noun}",
    "The {noun} under the {noun} was {adjective}",
    "You should always {verb} the {noun} before you {verb} a {adjective} {noun}",
    "{name} and {name} {verb} {number} {noun}s in {place}",
    "Never {verb} {word} {noun}s; {verb} them first",
    "If the {noun} is {adjective}, {verb} it and {verb} the {noun}",
    "{Word} needs {number} {noun}s",
    "It was a {adjective} {noun}, and the {noun} did not {verb} the {word}",
)
