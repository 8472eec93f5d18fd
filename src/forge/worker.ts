/**
 * The thread that reads a forge's database: node:sqlite blocks, and counting a million rows would hold up
 * every check.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { ForgeFault } from './fault.ts';
import type {
  Answer,
  Chunk,
  FaultText,
  Found,
  Question,
  ReadResult,
  Request,
  ThreadSettings,
} from './messages.ts';
import { ForgeThread } from './thread.ts';

if (parentPort === null) throw new Error('this is a thread of the forge reader, not a program');
const port = parentPort;
// The reader passes these settings to the thread that it starts.
const thread = new ForgeThread(workerData as ThreadSettings, process.env);

/** The reading that is under way. */
let reading: AsyncGenerator<Chunk, ReadResult, void> | null = null;

port.on('message', async ({ id, question }: Request) => {
  const answer: Answer = await find(question).then(
    found => ({ id, found }),
    (error: unknown) => ({ id, fault: faultText(error) }),
  );
  port.postMessage(answer);
});

async function find(question: Question): Promise<Found> {
  if (question.ask === 'lfs') return { is: 'lfs', objects: await thread.lfsObjects(question.name) };
  if (question.ask === 'read') reading = thread.read(question.mode);
  if (reading === null) throw new Error('no reading is under way');
  const step = await reading.next();
  return step.done ? { is: 'done', result: step.value } : { is: 'chunk', chunk: step.value };
}

function faultText(error: unknown): FaultText {
  if (error instanceof ForgeFault) {
    const { code, message, mend } = error;
    return { code, message, mend };
  }
  return { code: 'unreachable', message: messageOf(error), mend: 'see the log; it is tried again by itself' };
}
