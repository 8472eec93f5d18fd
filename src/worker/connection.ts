/** The worker's connection to the daemon: it reports on TRUSTED_SOCKET, and goes on where nobody answers. */

import { request } from 'node:http';
import { reportJson, type WorkerReport } from './report.ts';

const answerMs = 5000;

/** Sends a report; resolves with why it was not taken, or null. Never rejects. */
export function sendReport(socketPath: string, report: WorkerReport): Promise<string | null> {
  const body = JSON.stringify({ report: reportJson(report) });
  return new Promise(resolve => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const asked = request(
      { socketPath, path: '/v1/worker', method: 'POST', headers, agent: false },
      response => {
        // Nothing in the answer but its status is of interest.
        response.destroy();
        clearTimeout(overdue);
        resolve(response.statusCode === 202 ? null : `the daemon answers with ${response.statusCode}`);
      },
    );
    const overdue = setTimeout(() => asked.destroy(new Error('the daemon does not answer')), answerMs);
    asked.on('error', error => {
      clearTimeout(overdue);
      resolve(error.message);
    });
    asked.end(body);
  });
}
