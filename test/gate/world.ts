/** A gate on a real ledger and a real store, and those who ask it: HTTP clients, and bare sockets. */

import fs from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import {
  type AllowedPush,
  type Gate,
  type GateServices,
  noRoom,
  openGate,
  PushQuestions,
  type PushServices,
  type PushWorker,
  Refusals,
  type UploadSettings,
  WorkerLink,
} from '../../src/gate/index.ts';
import { repositoryPaths } from '../../src/layout/index.ts';
import { type Clock, Ledger, type LedgerSettings } from '../../src/ledger/index.ts';
import type { FullDisk, RefusalRecord } from '../../src/quota/index.ts';
import { openStore } from '../../src/store/index.ts';
import type { WorkerReport } from '../../src/wire/index.ts';
import { directoryFor, noFullDisks, settings, silentLog } from '../ledger/world.ts';

export interface Answer {
  readonly status: number;
  /** The phrase of the status. */
  readonly phrase: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Settings of the tests, and what the gate did. */
export interface Told {
  contact: string | null;
  fullDisk: FullDisk | null;
  showsFigures: boolean;
  reasons: readonly string[];
  notes: readonly string[];
  locate: GateServices['locate'];
  readonly refused: RefusalRecord[];
  readonly measured: string[];
  readonly letThrough: string[];
  readonly workers: WorkerReport[];
  /** Those that count. */
  readonly pushes: AllowedPush[];
  /** The daemon's book of pushes and its worker, of which a test replaces methods. */
  readonly pushServices: PushServices;
  readonly pushWorker: PushWorker & Pick<WorkerLink, 'ask'>;
  readonly unforeseen: unknown[];
  uploads: UploadSettings;
  readonly notUnderstood: string[];
  readonly unasked: string[];
  /** The names of owners that the forge was asked about. */
  readonly settled: string[];
}

export interface World {
  readonly ledger: Ledger;
  readonly services: GateServices;
  readonly link: WorkerLink;
  readonly gate: Gate;
  readonly trusted: Gate;
  readonly sockets: { readonly gate: string; readonly trusted: string };
  readonly told: Told;
  readonly pushQuestions: PushQuestions;
  ask(path: string, asked?: Asked): Promise<Answer>;
  askTrusted(path: string, asked?: Asked): Promise<Answer>;
  /** Takes what a walk found. */
  walk(
    path: string,
    owner: string | null,
    bytes: number,
    differing?: Partial<Parameters<Ledger['walks']['record']>[0]>,
  ): void;
}

export async function openWorld(
  t: Test,
  changed: Partial<LedgerSettings> = {},
  limits: Parameters<typeof openGate>[3] = {},
  clock?: Clock,
): Promise<World> {
  const directory = fs.mkdtempSync(join(tmpdir(), 'sq-'));
  const store = await openStore({ file: join(directory, 'softquota.db') });
  const ledger = await Ledger.open({
    store,
    unitSources: store.unitSources,
    host: 'here',
    settings: { ...settings, totalBytes: 10_000_000_000, ...changed },
    foldCase: true,
    log: silentLog,
    ...(clock === undefined ? {} : { clock }),
  });
  const link = new WorkerLink({ mark: () => 'mark', reported: report => told.workers.push(report) });
  t.teardown(() => link.close());
  const told: Told = {
    contact: null,
    fullDisk: null,
    showsFigures: true,
    reasons: [],
    notes: [],
    locate: async path => {
      throw new SoftquotaError('unknown_path', `${path} is under no storage template`);
    },
    refused: [],
    measured: [],
    letThrough: [],
    workers: [],
    pushes: [],
    pushServices: {
      look: async () => ({ is: 'absent' }),
      largeFiles: async () => ({ is: 'seen', blobs: [] }),
      begin: push => told.pushes.push(push),
      withdraw: () => {},
      arrived: () => {},
      firstWalk: async () => {},
      measure: unit => told.measured.push(unit),
      deniesForce: async () => false,
      hasRefs: async () => true,
      existingNames: async () => [],
    },
    pushWorker: {
      link: {
        get isHere() {
          return told.pushWorker.isHere;
        },
        isClosed: false,
        connection: async () => {},
        ask: (...asked) => told.pushWorker.ask(...asked),
        take: (...connection) => link.take(...connection),
      },
      isHere: false,
      ask: async () => ({}),
      largeFiles: async () => null,
      gitUsed: () => {},
      letThrough: () => {},
      changed: () => {},
      quarantine: async () => null,
      roomFor: () => noRoom,
      spaceLines: () => [],
      askedEarly: () => {},
    },
    unforeseen: [],
    uploads: {
      routes: [],
      headers: 'original',
      onError: 'allow',
      lfs: { upstream: null, batchRoutes: [], base: '/' },
      repositoryPathsOf: ({ owner, repository }) =>
        repository === null ? [] : repositoryPaths(['/srv/git/{owner}/{repo}.git'], owner, repository),
    },
    notUnderstood: [],
    unasked: [],
    settled: [],
  };
  const parts: Omit<GateServices, 'pushQuestions'> = {
    metrics: null,
    fullDisk: () => told.fullDisk,
    ledger,
    synchronize: async () => {
      throw new SoftquotaError('not_found', 'there is no source here');
    },
    locate: path => told.locate(path),
    settleOwner: name => {
      told.settled.push(name);
      return null;
    },
    showsFigures: owner => told.showsFigures && ledger.documents.owners.named(owner) !== undefined,
    measureSoon: path => told.measured.push(path),
    letThrough: path => told.letThrough.push(path),
    contact: () => told.contact,
    myUsage: () => null,
    uploads: () => told.uploads,
    notUnderstood: why => told.notUnderstood.push(why),
    refused: record => told.refused.push(record),
    unasked: ({ per, subject }) => told.unasked.push(`${per} ${subject}`),
    pushes: told.pushServices,
    worker: told.pushWorker,
    health: () => ({ reasons: told.reasons, notes: told.notes }),
    unforeseen: error => told.unforeseen.push(error),
  };
  const pushQuestions = new PushQuestions(parts);
  const services: GateServices = { ...parts, pushQuestions };
  const sockets = { gate: join(directory, 'g'), trusted: join(directory, 't') };
  const place = (path: string) => ({ path, mode: 0o600, group: null, setting: '[server] SOCKET' });
  const gate = await openGate(services, place(sockets.gate), 'anybody', limits);
  const trusted = await openGate(services, place(sockets.trusted), 'trusted', limits);
  // It leaves a connection that rests long before the gate does, which a busy host may let both do at once.
  const agent = new Agent({ keepAlive: true, maxSockets: 4, timeout: 1000 });
  t.teardown(async () => {
    agent.destroy();
    pushQuestions.close();
    await Promise.all([gate.close(), trusted.close()]);
    await ledger.close();
    fs.rmSync(directory, { recursive: true });
  });
  return {
    ledger,
    services,
    link,
    gate,
    trusted,
    sockets,
    told,
    pushQuestions,
    ask: (path, asked) => ask(sockets.gate, path, asked, agent),
    askTrusted: (path, asked) => ask(sockets.trusted, path, asked, agent),
    walk: (path, owner, bytes, differing = {}) =>
      ledger.walks.record({
        path,
        owner,
        leaf: 'size:repos:private',
        bytes,
        files: 1,
        partial: false,
        measuredAt: Date.parse('2026-11-21T09:14:03Z'),
        seq: ledger.walks.nextSeq(),
        ...differing,
      }),
  };
}

/** Finds a new unit of this owner wherever it is looked for. */
export function locatedOf(
  owner: string | null,
  differing: Partial<Awaited<ReturnType<GateServices['locate']>>> = {},
): GateServices['locate'] {
  return async path => ({ path, owner, leaf: 'size:repos:private', bytes: null, exists: true, ...differing });
}

/** The list of refusals for hooks, beside a socket of the test's own. */
export function publishedBy(
  t: Test,
  ledger: ConstructorParameters<typeof Refusals>[0]['ledger'],
  differing: Partial<ConstructorParameters<typeof Refusals>[0]> = {},
) {
  const directory = directoryFor(t);
  const socket = join(directory, 'gate.sock');
  const file = join(directory, 'gate.refused');
  const logged: { readonly level: string; readonly fields: object }[] = [];
  const refusals = new Refusals({
    ledger,
    disks: noFullDisks,
    socket,
    socketMode: 0o660,
    foldCase: true,
    log: {
      error: fields => logged.push({ level: 'error', fields }),
      info: fields => logged.push({ level: 'info', fields }),
    },
    pauseMs: 0,
    ...differing,
  });
  t.teardown(() => refusals.close());
  const lines = async () => {
    await refusals.published();
    return fs.readFileSync(file, 'utf8').split('\n').slice(1, -1);
  };
  return { refusals, directory, socket, file, logged, lines };
}

/** Asks over a connection of its own unless an agent is given. */
export async function ask(
  socketPath: string,
  path: string,
  asked: Asked = {},
  agent?: Agent,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { method = 'GET', body } = asked;
  const headers: Record<string, string> = { ...asked.headers };
  const isChunked = headers['Transfer-Encoding'] !== undefined;
  if (body !== undefined && !isChunked) headers['Content-Length'] ??= String(Buffer.byteLength(body));
  const sent = request({ socketPath, path, method, headers, agent: agent ?? false }, response => {
    const { statusCode: status = 0, statusMessage: phrase = '', headers } = response;
    textOf(response).then(text => resolve({ status, phrase, headers, text }), reject);
  });
  sent.once('error', reject).end(body);
  return promise;
}

export const asText = { headers: { Accept: 'text/plain' } } as const;

export function form(fields: Readonly<Record<string, string>>): Asked {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return { method: 'POST', headers, body: new URLSearchParams(fields).toString() };
}

export function json(value: unknown): Asked {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return { method: 'POST', headers: { 'Content-Type': 'application/json; charset=utf-8' }, body };
}

/** A bare connection: everything that comes is gathered. */
export interface Bare {
  readonly socket: Socket;
  /** All that has come, as latin1. */
  received(): string;
  /** Resolves once what has come satisfies the test, rejects when it ends before. */
  until(satisfied: (received: string) => boolean): Promise<string>;
  /** Resolves with all that came, once nothing more can. */
  readonly ended: Promise<string>;
}

export async function bare(t: Test, socketPath: string): Promise<Bare> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  let all = '';
  const waiting = new Set<() => void>();
  const ended = Promise.withResolvers<string>();
  let hasEnded = false;
  const look = () => {
    for (const again of waiting) again();
  };
  socket.on('data', chunk => {
    all += chunk.toString('latin1');
    look();
  });
  const end = () => {
    hasEnded = true;
    ended.resolve(all);
    look();
  };
  socket
    .on('error', () => {})
    .on('end', end)
    .on('close', end);
  const until = (satisfied: (received: string) => boolean) =>
    new Promise<string>((resolve, reject) => {
      const again = () => {
        if (satisfied(all)) resolve(all);
        else if (hasEnded) reject(new Error(`it ended with: ${all}`));
        else return;
        waiting.delete(again);
      };
      waiting.add(again);
      again();
    });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return { socket, received: () => all, until, ended: ended.promise };
}

/** Number of answers with this status on a bare connection. */
export function answers(received: string, status: number): number {
  return received.split(`HTTP/1.1 ${status} `).length - 1;
}
