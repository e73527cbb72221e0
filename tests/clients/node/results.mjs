// How these programs report: each check by name, in one JSON object on standard output.

/** Of the Fireside to talk to, without a path. */
export const url = process.env.FIRESIDE_URL;
/** Of one that serves an embedder. */
export const embedderUrl = process.env.EMBEDDER_URL;

/** Run the checks in turn and print what each returned; for one that failed, the error as a string. */
export async function report(checks) {
  console.log(JSON.stringify(await outcomesOf(checks)));
}

async function outcomesOf(checks) {
  const outcomes = {};
  for (const [name, check] of Object.entries(checks)) {
    outcomes[name] = typeof check === "function" ? await outcomeOf(check) : await outcomesOf(check);
  }
  return outcomes;
}

async function outcomeOf(check) {
  try {
    return await check();
  } catch (error) {
    return `${error.constructor.name}: ${error.message}`;
  }
}

/** What a call is rejected with; it must be. */
export async function rejection(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("the request was not refused");
}
