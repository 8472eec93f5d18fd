/** An owner's figure, as the gate tells it. */

import { type Agent, request } from 'node:http';

const patienceMs = 10_000;

/** Asks without a pause until an owner has so many bytes; rejects where that takes too long. */
export async function figureIs(agent: Agent, socket: string, owner: string, bytes: number): Promise<void> {
  const begun = performance.now();
  for (;;) {
    const answer = await textOf(agent, socket, 'GET', `/v1/usage?owner=${owner}`);
    if (answer.includes(`:${bytes}`)) return;
    if (performance.now() - begun > patienceMs) throw new Error(`${owner} has not ${bytes} bytes: ${answer}`);
  }
}

/** Reports to the gate that a unit has changed, as an upload handler does. */
export async function tellChanged(agent: Agent, socket: string, path: string): Promise<void> {
  await textOf(agent, socket, 'POST', `/v1/changed?path=${path}`);
}

function textOf(agent: Agent, socketPath: string, method: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, agent, method, path }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    });
    asked.on('error', reject);
    asked.end();
  });
}
