/** Readings put together: what each owner has, after all that was told. */

import type { Test } from 'tap';
import {
  type Chunk,
  type ForgeMembers,
  type ForgeOwner,
  ForgeReader,
  type ForgeSettings,
  isAmong,
  type ReadMode,
} from '../../src/forge/index.ts';

export function settingsFor(database: string, more: Partial<ForgeSettings> = {}): ForgeSettings {
  return {
    kind: 'gitea',
    configFile: null,
    database,
    ownerLevel: 'top',
    praefect: null,
    ...more,
  };
}

type Rest = Extract<Chunk, { readonly is: 'rest' }>;

interface Line {
  readonly owner: string;
  readonly subject: string;
  readonly bytes: number;
}

export class Readings {
  readonly reader: ForgeReader;
  readonly owners = new Map<number, ForgeOwner>();
  members: readonly ForgeMembers[] = [];
  changedRepositories: readonly string[] | null = null;
  lines: readonly Line[] = [];
  #publicHashes = new Float64Array();

  constructor(t: Test, settings: ForgeSettings) {
    this.reader = new ForgeReader(settings);
    t.teardown(() => this.reader.close());
  }

  /** Gives what the reading tells at its end; nothing where nothing is new. */
  async read(mode: ReadMode = 'new'): Promise<Partial<Rest>> {
    let text: string | null = null;
    let rest: Partial<Rest> = {};
    this.changedRepositories = null;
    for await (const chunk of this.reader.read(mode)) {
      switch (chunk.is) {
        case 'owners':
          for (const owner of chunk.owners) this.owners.set(owner.id, owner);
          break;
        case 'present': {
          const present = new Set(chunk.ids);
          for (const id of this.owners.keys()) if (!present.has(id)) this.owners.delete(id);
          break;
        }
        case 'members':
          this.members = chunk.members;
          break;
        case 'repositories':
          this.#publicHashes = Float64Array.from(chunk.repositories.publicHashes);
          this.changedRepositories = chunk.repositories.changed;
          break;
        case 'rest':
          rest = chunk;
          break;
        case 'lines':
          text = (text ?? '') + Buffer.from(chunk.bytes).toString();
      }
    }
    if (text !== null) this.lines = linesIn(text);
    return rest;
  }

  /** The bytes of an owner, by leaf. */
  bytesOf(owner: string): Readonly<Record<string, number>> {
    const own = this.lines.filter(line => line.owner === owner);
    return Object.fromEntries(own.map(({ subject, bytes }) => [subject, bytes]));
  }

  /** Compares the bytes of each owner, and who is one. */
  match(t: Test, expected: Readonly<Record<string, Readonly<Record<string, number>>>>): void {
    for (const [owner, leaves] of Object.entries(expected)) t.strictSame(this.bytesOf(owner), leaves, owner);
    const names = [...this.owners.values()].map(({ name }) => name);
    t.strictSame(names.sort(), Object.keys(expected).sort());
  }

  isPublic(repository: string): boolean {
    return isAmong(this.#publicHashes, this.reader.hashOf(repository));
  }
}

function linesIn(text: string): readonly Line[] {
  // The reader's own lines.
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line);
}
