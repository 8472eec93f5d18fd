import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { routeSections, webhookSections } from '../../src/config/definition.ts';
import {
  formatFaults,
  type LoadedConfig,
  loadConfig,
  printConfig,
  sections,
} from '../../src/config/index.ts';
import { lengthOf } from '../run-length.ts';
import { configText } from './arbitraries.ts';
import { folderWith, load, loadText } from './written.ts';

t.test('each value is printed with where it comes from', async t => {
  const folder = folderWith(t, { level: 'warn\n' });
  const printed = printConfig(
    load(t, '[quota]\n\nENABLED = YES\n', {
      SOFTQUOTA__QUOTA_0X2E_DEFAULT__TOTAL: '1.5 GiB',
      SOFTQUOTA__LOG__LEVEL__FILE: join(folder, 'level'),
    }),
  );
  const lines = printed.split('\n');
  t.ok(lines.includes('ENABLED = true  # app.ini:3'));
  t.ok(lines.includes('TOTAL = 1.5 GiB  # SOFTQUOTA__QUOTA_0X2E_DEFAULT__TOTAL'));
  t.ok(lines.includes(`LEVEL = warn  # SOFTQUOTA__LOG__LEVEL__FILE (${folder}/level)`));
  t.ok(lines.includes('REFUSE_WHEN = exceeded  # default'));
  t.ok(lines.includes('CONTACT =  # default: none'));
});

t.test('secrets are masked, and what is printed loads all the same', async t => {
  const printed = printConfig(
    load(t, '[store]\nHOST = redis://bob:hunter2@h:1/2\n', {
      SOFTQUOTA__SECURITY__SECRET_KEY: 'hunter2'.repeat(5),
    }),
  );
  t.notMatch(printed, /hunter2|bob/);
  t.match(printed, '# SECRET_KEY = ********  # hidden; SOFTQUOTA__SECURITY__SECRET_KEY');
  t.match(printed, 'HOST = redis://********@h:1/2  # app.ini:2');
  t.match(loadText(t, printed), { ok: true });
});

t.test('the example file, printed, is the example file', async t => {
  const example = load(t, readFileSync(new URL('../../app.ini.example', import.meta.url), 'utf8'));
  t.match(example.config, {
    quota: { enabled: true, totalBytes: 10_000_000_000 },
    storages: [{ kind: 'repos', templates: ['/srv/git/{owner}/{repo}.git'] }],
  });
  const { file: _, ...again } = load(t, printConfig(example)).config;
  t.match(example.config, again);
});

t.test('each key that has a value is printed with it', async t => {
  const fitting: Readonly<Record<string, string>> = {
    'forge.KIND': 'gitlab',
    'metrics.TOKEN': 'x'.repeat(16),
    'security.SECRET_KEY': 'x'.repeat(32),
  };
  const ini = [...sections, webhookSections, routeSections]
    .flatMap(({ name, keys }) => [
      `[${name}]`,
      ...keys.map(key => `${key.name} = ${fitting[`${name}.${key.name}`] ?? (key.text || key.example)}`),
    ])
    .join('\n');
  const printed = printConfig(load(t, ini.replaceAll('NAME]', 'name]')));
  t.same(printed.match(/^.* =(?: +#.*)?$/gm), null);
});

t.test('any configuration, printed and read again, is the same', async t => {
  const folder = folderWith(t, {});
  const read = (text: string): LoadedConfig => {
    writeFileSync(join(folder, 'app.ini'), text);
    const loaded = loadConfig({ file: 'app.ini', env: {}, cwd: folder, uid: 1000 });
    if (!loaded.ok) throw new Error(formatFaults(loaded.faults));
    return loaded;
  };
  fc.assert(
    fc.property(configText, text => {
      const loaded = read(text);
      const printed = printConfig(loaded);
      t.strictSame(read(printed).config, loaded.config);
      t.notMatch(printed, /[^\P{Cc}\n]/u);
    }),
    { numRuns: lengthOf(100, 300) },
  );
});
