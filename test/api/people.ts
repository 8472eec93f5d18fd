/** Owners of a world: on its disk, and as it tells of them. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type EventOf, event } from '../../src/overview/index.ts';
import { type SessionRow, scanReport, sessionRow, type User, user } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import type { Asked, World } from './world.ts';

export function repository(world: World, name: string): string {
  const path = join(world.directory, 'git', `${name}.git`);
  for (const part of ['objects', 'refs']) mkdirSync(join(path, part), { recursive: true });
  writeFileSync(join(path, 'HEAD'), 'ref: refs/heads/main\n');
  return path;
}

export async function measure(world: World): Promise<void> {
  const ordered = await world.must(202, 'POST', '/admin/quota/scans', { body: {} });
  const { id } = scanReport.parse(ordered.json);
  await until(async () => {
    return scanReport.parse(await world.get(`/admin/quota/scans/${id}`)).state === 'done' ? true : null;
  });
}

export async function userOf(world: World, name: string): Promise<User> {
  return user.parse(await world.get(`/admin/users/${encodeURIComponent(name)}`));
}

export async function namesIn(world: World, query = ''): Promise<string[]> {
  const json = await world.get(`/admin/users${query}`);
  return z
    .array(user)
    .parse(json)
    .map(({ username }) => username);
}

export async function groupsOf(world: World, name: string): Promise<string[]> {
  const { groups } = z
    .object({ groups: z.array(z.object({ name: z.string() })) })
    .parse(await world.get(`/admin/users/${encodeURIComponent(name)}/quota`));
  return groups.map(group => group.name);
}

export async function sessionsOf(
  world: World,
  name: string,
  asked: Asked = {},
): Promise<readonly SessionRow[]> {
  return z.array(sessionRow).parse(await world.get(`/users/${name}/sessions`, asked));
}

/** In every browser where they are signed in. */
export async function endSessions(world: World, name: string): Promise<void> {
  for (const { id } of await sessionsOf(world, name)) {
    await world.remove(`/users/${name}/sessions/${id}`);
  }
}

/** The oldest first. */
export async function signInEvents(world: World): Promise<readonly EventOf<'sign-in'>[]> {
  const events = z.array(event).parse(await world.get('/admin/quota/events?kind=sign-in&limit=1000'));
  return events.flatMap(one => (one.kind === 'sign-in' ? [one] : [])).reverse();
}

export function messageOf(answer: { readonly json: unknown }): string {
  return z.object({ message: z.string() }).parse(answer.json).message;
}
