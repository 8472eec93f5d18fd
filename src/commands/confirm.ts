/** A question to whoever sits at the terminal. */

import { createInterface } from 'node:readline/promises';

/** Tells whether the answer is yes. Where nobody can be asked, as in a script, it is. */
export async function confirmed(question: string): Promise<boolean> {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return true;
  const lines = createInterface({ input, output });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
