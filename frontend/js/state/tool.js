/** @import { ToolCall } from "../protocol.d.ts" */

import { signal } from "../lib.js";

/** A call of a tool as the page shows it. Its output streams apart from the rest, which changes seldom. */
export class ToolModel {
  /** @param {ToolCall} call */
  constructor(call) {
    this.id = call.call_id;
    this.call = signal(call);
    this.output = signal(call.result);
  }

  /** @param {ToolCall} call  the server's word on all of it */
  adopt(call) {
    this.call.value = call;
    this.output.value = call.result;
  }

  /** @param {string} text  more output of the running call */
  append(text) {
    this.output.value += text;
  }
}
