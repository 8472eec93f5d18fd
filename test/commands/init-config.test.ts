import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { configText, proposeTotal } from '../../src/commands/init-config.ts';
import type { NewPlaces } from '../../src/commands/new-config.ts';
import { formatFaults, loadConfig } from '../../src/config/index.ts';
import { parseSize } from '../../src/text.ts';
import { ownerName } from '../config/arbitraries.ts';
import { folderWith } from '../config/written.ts';

/** Names of directories as odd as a template can say them. */
const directory = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 20 })
  .map(text => text.replace(/[/,{}*\0]|\p{Cs}/gu, ''))
  .filter(text => !/^\.{0,2}$/.test(text));
const odd = fc.oneof(
  directory,
  fc.constantFrom(
    'a # b',
    'a ; b',
    '"quoted"',
    "it's",
    'back\\slash',
    ' blank ',
    'a = b',
    'tab\there',
    'new\nline',
    '[x]',
  ),
);
const root = fc.array(odd, { minLength: 1, maxLength: 3 }).map(names => `/${names.join('/')}`);
const owner = fc.oneof(
  fc.constant({ by: 'path' } as const),
  fc.constant({ by: 'file', name: 'gl-creator' } as const),
  fc.constant({ by: 'git-config', key: 'gitlab.fullpath' } as const),
  ownerName.map(name => ({ by: 'fixed', name }) as const),
);

const besideFile: Omit<NewPlaces, 'dataPath'> = {
  sockets: null,
  socketGroup: null,
  trustedGroup: null,
  directories: [],
  account: null,
};
const reporting = { mode: 'report', limit: proposeTotal([]) } as const;

t.test('whatever the places are named, what is written loads as what was found', async t => {
  const folder = folderWith(t, {});
  const file = join(folder, 'app.ini');
  fc.assert(
    fc.property(root, root, owner, fc.string(), (place, data, source, advice) => {
      const common = { owner: source, visibility: 'export-ok', follow: [resolve(place, 'disk')] } as const;
      const found = {
        root: place,
        layout: 'owners',
        storages: [
          { kind: 'repos', templates: [`${place}/{owner}/{repo}.git`], ...common },
          { kind: 'wiki', templates: [`${place}/{owner}/{repo}.wiki.git`], ...common },
        ],
        advice: [advice, 'two\nlines\n[quota]'],
        stores: [{ what: 'LFS objects', path: place, subject: null, bytes: 0, whole: true }],
      } as const;
      const places = { ...besideFile, dataPath: data, sockets: place, socketGroup: 'git' };
      const quota = { ...reporting, hasWorker: true, keepsHooks: true, gits: null };
      writeFileSync(file, configText(found, places, quota, null));
      const loaded = loadConfig({ file, env: {}, cwd: folder, uid: 0 });
      // A path that is too long for a socket has nothing to do with how it is written.
      if (!loaded.ok && loaded.faults.every(({ message }) => message.includes('bytes long'))) return;
      if (!loaded.ok) throw new Error(formatFaults(loaded.faults));
      const { config } = loaded;
      t.strictSame(config.storages, found.storages);
      t.equal(config.server.dataPath, data);
      t.equal(config.server.socket, `${place}/gate.sock`);
      t.match(config.server, { trustedSocket: `${place}/trusted.sock`, socketGroup: 'git' });
      t.match(config.quota, { enabled: true, mode: 'report', garbage: 'forgive', totalBytes: 1_000_000_000 });
      t.equal(config.reclaim.run, 'gc', 'the way out has no end');
      t.ok(config.hooks.keep);
    }),
    { numRuns: 500 },
  );
});

t.test('[forge] loads as what was found; commented out, it says why and changes nothing', async t => {
  const folder = folderWith(t, {});
  const file = join(folder, 'app.ini');
  const found = { root: '/srv', layout: 'gitea', storages: [], advice: [], stores: [] } as const;
  const places = { ...besideFile, dataPath: folder };
  const gits = { words: 'two\n[x]', value: 'git, /usr/local/bin/git' };
  const quota = { ...reporting, hasWorker: false, keepsHooks: false, gits };
  const load = (configFile: string, why: string | null) => {
    const fault = why === null ? null : ({ code: 'schema', message: why, mend: why } as const);
    const forge = { kind: 'gitea', config: configFile, address: null, fault };
    writeFileSync(file, configText(found, places, quota, forge));
    const loaded = loadConfig({ file, env: {}, cwd: folder, uid: 0 });
    if (!loaded.ok) throw new Error(formatFaults(loaded.faults));
    t.strictSame(loaded.config.reclaim.gits, ['git', '/usr/local/bin/git']);
    t.equal(loaded.config.reclaim.run, 'measure');
    t.notOk(loaded.config.hooks.keep);
    return loaded.config.forge;
  };
  fc.assert(
    fc.property(root, fc.string(), (place, why) => {
      t.match(load(place, null), {
        kind: 'gitea',
        configFile: resolve(place),
        database: null,
      });
      t.equal(load(place, `${why}\n[forge]\nKIND = gitea`), null);
    }),
    { numRuns: 100 },
  );
});

const row = (total: number) => ({ name: 'alice', total });

t.test('the proposed limit is round, and few owners are over it', t => {
  const sizes = (count: number) =>
    Array.from({ length: count }, (_, index) => row((count - index) * 1_000_000));
  t.match(proposeTotal(sizes(3)), { total: '5 MB', refused: [] });
  t.match(proposeTotal(sizes(200)), { total: '200 MB', refused: [] });
  t.match(proposeTotal([row(9_000_000_000), ...sizes(199)]), {
    total: '200 MB',
    refused: [{ name: 'alice', used: 9_000_000_000 }],
  });
  t.match(proposeTotal([]), { total: '1 GB', refused: [] });
  t.match(proposeTotal([row(0), row(0)]), { total: '1 GB', refused: [] });
  t.end();
});

t.test('the proposed limit refuses at most every twentieth owner, and at most twenty', async () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat(), { maxLength: 1000 }), sizes => {
      const largest = sizes.sort((a, b) => b - a);
      const { bytes, total, refused } = proposeTotal(largest.map(row));
      t.strictSame(parseSize(total), { ok: true, value: bytes });
      t.strictSame(
        refused.map(({ used }) => used),
        largest.filter(size => size > bytes),
      );
      t.ok(refused.length <= Math.min(20, largest.length / 20));
      t.ok(/^[125]0* [kMGTP]?B$/.test(total) || bytes === Number.MAX_SAFE_INTEGER, total);
    }),
  );
});
