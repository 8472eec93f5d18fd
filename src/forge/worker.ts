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
  LfsAnswer,
  LfsQuestion,
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

const answer = (message: Answer | LfsAnswer) => port.postMessage(message);

port.on('message', (request: Request) => {
  if (request.ask === 'close') {
    void thread.close().then(() => port.close());
    return;
  }
  if (request.ask === 'lfs') {
    void answerLfs(request);
    return;
  }
  if (request.ask === 'read') reading = thread.read(request.mode);
  void goOn();
});

async function answerLfs({ id, name }: LfsQuestion): Promise<void> {
  answer({ is: 'lfs', id, found: await thread.lfsObjects(name).catch(faultText) });
}

async function goOn(): Promise<void> {
  try {
    const step = await reading?.next();
    if (step === undefined) return;
    answer(step.done ? { is: 'done', result: step.value } : { is: 'chunk', chunk: step.value });
  } catch (error) {
    answer({ is: 'fault', fault: faultText(error) });
  }
}

function faultText(error: unknown): FaultText {
  if (error instanceof ForgeFault) {
    const { code, message, mend } = error;
    return { code, message, mend };
  }
  return { code: 'unreachable', message: messageOf(error), mend: 'see the log; it is tried again by itself' };
}
