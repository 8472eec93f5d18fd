/** The worker's connection to the daemon, on TRUSTED_SOCKET. The worker goes on where nobody answers. */

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { messageOf } from '../../errors.ts';
import { reportJson, type WorkerReport } from './report.ts';

const answerMs = 5000;
const waitSeconds = 20;
/** Tells the daemon this start of the worker from the one before. */
const start = randomUUID();
const mostAnswer = 4 * 1024 * 1024;

export type ReportOutcome =
  /** `daemon` is another after each start of the daemon. */
  { readonly taken: true; readonly daemon: string } | { readonly taken: false; readonly why: string };

export interface Tasks {
  /** What is measured from now on has this mark. */
  readonly mark: string;
  readonly pushed: readonly string[];
  readonly asked: readonly AskedTask[];
}

/** A task about a repository. */
export interface AskedTask {
  readonly id: string;
  readonly kind: string;
  readonly path: string;
  /** Somebody waits for it. */
  readonly isUrgent: boolean;
  /**
   * The address of the page with all that is found, empty if there is none; null: refused pushes show nothing
   * of it.
   */
  readonly page: string | null;
}

interface Question {
  readonly path: string;
  readonly body?: object;
  readonly answerMs: number;
  readonly signal?: AbortSignal;
}

/** Sends a report. Never rejects. */
export async function sendReport(socketPath: string, report: WorkerReport): Promise<ReportOutcome> {
  try {
    const { status, json } = await ask(socketPath, {
      path: '/v1/worker',
      body: { report: reportJson(report) },
      answerMs,
    });
    if (status !== 202) return { taken: false, why: `the daemon answers with ${status}` };
    return { taken: true, daemon: textIn(json, 'daemon') };
  } catch (error) {
    return { taken: false, why: messageOf(error) };
  }
}

/** Waits for something to do; rejects where the daemon is away, or the signal comes. */
export async function nextTasks(socketPath: string, signal: AbortSignal): Promise<Tasks> {
  const { status, json } = await ask(socketPath, {
    path: `/v1/worker/tasks?wait=${waitSeconds}&worker=${start}`,
    answerMs: (waitSeconds + 10) * 1000,
    signal,
  });
  if (status !== 200) throw new Error(`the daemon answers with ${status}`);
  const { pushed, asked } = fieldsOf(json);
  return {
    mark: textIn(json, 'mark'),
    pushed: listOf(pushed).filter(path => typeof path === 'string'),
    asked: listOf(asked).map(taskIn),
  };
}

/**
 * The LFS objects of a repository by their ids, with their bytes, as the forge's database has them; null:
 * there is no forge. Rejects where the daemon does not know.
 */
export async function forgeLfsObjects(
  socketPath: string,
  path: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | null> {
  const { status, json } = await ask(socketPath, {
    path: `/v1/worker/lfs?path=${encodeURIComponent(path)}`,
    answerMs,
    signal,
  });
  if (status !== 200) throw new Error(`the daemon answers with ${status}`);
  const { objects } = fieldsOf(json);
  return Array.isArray(objects) ? new Map(objects.flatMap(objectIn)) : null;
}

function objectIn(json: unknown): readonly [oid: string, bytes: number][] {
  const { oid, bytes } = fieldsOf(json);
  return typeof oid === 'string' && typeof bytes === 'number' ? [[oid, bytes]] : [];
}

function taskIn(json: unknown): AskedTask {
  const { urgent, page } = fieldsOf(json);
  return {
    id: textIn(json, 'id'),
    kind: textIn(json, 'kind'),
    path: textIn(json, 'path'),
    isUrgent: urgent !== false,
    page: typeof page === 'string' ? page : null,
  };
}

/** Sends what came of a task. Who does not take it does not wait for it any more. */
export async function sendResult(
  socketPath: string,
  id: string,
  outcome: { readonly result: object } | { readonly fault: string },
): Promise<void> {
  await ask(socketPath, { path: '/v1/worker/results', body: { id, outcome }, answerMs }).catch(() => {});
}

function ask(
  socketPath: string,
  { path, body, answerMs: patienceMs, signal }: Question,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const text = body === undefined ? null : JSON.stringify(body);
  const headers =
    text === null ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
  const method = text === null ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, method, headers, agent: false, signal }, response => {
      collected(response).then(json => {
        clearTimeout(overdue);
        resolve({ status: response.statusCode ?? 0, json });
      }, reject);
    });
    const overdue = setTimeout(() => asked.destroy(new Error('the daemon does not answer')), patienceMs);
    asked.on('error', error => {
      clearTimeout(overdue);
      reject(error);
    });
    asked.end(text ?? undefined);
  });
}

async function collected(response: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response) {
    const bytes = Buffer.from(piece);
    length += bytes.length;
    if (length > mostAnswer) throw new Error('the daemon answers with too much');
    pieces.push(bytes);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    return null;
  }
}

function fieldsOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? { ...json } : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textIn(json: unknown, name: string): string {
  const value = fieldsOf(json)[name];
  return typeof value === 'string' ? value : '';
}
