/**
 * A thread that asks the gate again and again, each time on a connection of its own as hooks do, until it is
 * told to end.
 *
 * Notes what a clock says of each check, and how long the daemon's main thread ran on a processor
 * meanwhile: that is how long the check waited for the daemon, whatever else wants the processors.
 */

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';

const { socket, pid } = z.object({ socket: z.string(), pid: z.number() }).parse(workerData);
const question =
  'GET /v1/check?owner=alice&subject=size:all HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const pauseMs = 5;

let isOver = false;
parentPort?.once('message', () => {
  isOver = true;
});

/**
 * In milliseconds, since the process began: proc_pid_schedstat(5), of the thread that has the process's
 * number.
 */
function ranMs(): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1_000_000;
}

function ask(): Promise<string> {
  return new Promise(resolve => {
    let received = '';
    const connection = connect(socket, () => connection.write(question));
    connection.on('data', chunk => {
      received += String(chunk);
    });
    connection.on('error', error => resolve(error.message));
    connection.on('close', () => resolve(received));
  });
}

const waitedMs: number[] = [];
const tookMs: number[] = [];
const failures: string[] = [];
while (!isOver) {
  const ran = ranMs();
  const began = performance.now();
  const answer = await ask();
  tookMs.push(performance.now() - began);
  waitedMs.push(ranMs() - ran);
  if (!answer.startsWith('HTTP/1.1 200 ')) failures.push(answer.slice(0, 200));
  await sleep(pauseMs);
}
parentPort?.postMessage({ waitedMs, tookMs, failures });
