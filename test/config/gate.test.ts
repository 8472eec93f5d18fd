/** `[gate]` and an administrator's own routes. */

import t from 'tap';
import { compareConfigs, merged, printConfig } from '../../src/config/index.ts';
import { subjectsWithin } from '../../src/quota/index.ts';
import { configOf, faultsOf, load } from './written.ts';

const route = '[gate.uploads]\nURL = /upload/{owner}/**\nSUBJECT = size:assets:packages:all\n';

t.test('presets and routes are taken in the order in which they are asked', t => {
  const { gate } = configOf(
    t,
    `[gate]\nPRESET = gitea, Distribution\nEARLY = yes\nHEADERS = forwarded\nON_ERROR = deny\nBASE = /git\n${route}` +
      '[gate.tus]\nURL = /files, /files/*\nSUBJECT = size:git:lfs\nMETHODS = post, Patch\nOWNER = Shared Files\n' +
      '[gate.health]\nURL = /upload/health\nSUBJECT = none\n',
  );
  t.match(gate, {
    presets: ['gitea', 'distribution'],
    isEarly: true,
    headers: 'forwarded',
    onError: 'deny',
    base: '/git',
  });
  t.match(gate.routes, [
    { name: 'uploads', owner: null },
    { name: 'tus', owner: 'Shared Files', methods: ['POST', 'PATCH'] },
    { name: 'health', subject: 'none', methods: ['POST', 'PUT', 'PATCH'] },
  ]);
  t.match(configOf(t, '').gate, {
    presets: [],
    isEarly: false,
    headers: 'original',
    onError: 'allow',
    base: '/',
    routes: [],
  });
  t.end();
});

t.test('the kinds of data that somebody asks about follow from storage, routes and LFS', t => {
  const asked = (ini: string) => {
    const { leaves, isLfsByOwner } = configOf(t, ini).quota.asked;
    return [...subjectsWithin(leaves), ...(isLfsByOwner ? ['by owner'] : [])];
  };
  const repos = '[storage.repos]\nPATH = /srv/git/{owner}/{repo}.git\n';
  t.strictSame(asked(''), []);
  t.strictSame(asked(repos), ['size:repos:all', 'size:assets:wiki'], 'by hooks');
  t.strictSame(asked(route), ['size:assets:packages:all']);
  t.strictSame(asked('[gate.health]\nURL = /{owner}/health\nSUBJECT = none\n'), []);
  t.strictSame(asked('[gate.wiki]\nURL = /{owner}/{repo}/new\nSUBJECT = repository\n'), [
    'size:repos:all',
    'size:assets:wiki',
  ]);
  t.strictSame(asked('[gate]\nPRESET = lfs\n'), ['size:git:lfs']);
  t.strictSame(asked('[lfs]\nUPSTREAM = http://127.0.0.1:3000/\n'), ['size:git:lfs']);
  t.strictSame(asked('[storage.lfs]\nPATH = /srv/lfs/{owner}\n'), ['by owner']);
  t.strictSame(asked('[storage.lfs]\nPATH = /srv/lfs/{owner}/{repo}\n'), []);
  t.end();
});

t.test('routes are asked in the order of the file, and those of the environment after them by name', t => {
  const tus = '[gate.tus]\nURL = /files/{owner}\nSUBJECT = size:git:lfs\n';
  const env = {
    SOFTQUOTA__GATE_0X2E_AB__URL: '/ab/{owner}',
    SOFTQUOTA__GATE_0X2E_AB__SUBJECT: 'size:git:lfs',
    SOFTQUOTA__GATE_0X2E_A__URL: '/a/{owner}',
    SOFTQUOTA__GATE_0X2E_A__SUBJECT: 'size:git:lfs',
    SOFTQUOTA__GATE_0X2E_UPLOADS__OWNER: 'shared',
  };
  t.match(configOf(t, route + tus, env).gate.routes, [
    { name: 'uploads', owner: 'shared' },
    { name: 'tus' },
    { name: 'a' },
    { name: 'ab' },
  ]);

  const order = (ini: string) => faultsOf(t, ini).filter(fault => fault.includes('ORDER: this key is gone'));
  t.strictSame(order(`${route}ORDER = 1\n${tus}ORDER = 2\n`), [], 'the order of the file');
  t.equal(order(`${route}ORDER = 2\n${tus}ORDER = 1\n`).length, 2);
  t.equal(order(`${route}ORDER = 1\n${tus}`).length, 1, 'a route without one came first');
  t.equal(order(`[gate]\nPRESET = gitea\n${route}ORDER = 1000\n`).length, 1, 'it came after presets');
  t.strictSame(order(`${route}ORDER = 1000\n`), []);
  t.end();
});

t.test('each fault of a route is named with what is expected', t => {
  const faults = (ini: string) => faultsOf(t, ini).join('\n');
  t.match(
    faults('[gate]\nPRESET = github\n'),
    /PRESET = "github": "github" is not one of .* Write some of git-http, lfs/,
  );
  t.match(faults('[gate]\nBASE = git\n'), /BASE = "git": not a path of a URL/);
  t.match(faults('[gate.x]\n'), /^$/, 'a heading alone is nothing');
  t.match(faults('[gate.x]\nSUBJECT = size:all\n'), /\[gate\.x\] URL: is missing\. Write paths of URLs/);
  t.match(faults('[gate.x]\nURL = /{owner}\n'), /\[gate\.x\] SUBJECT: is missing\. Write a subject such as/);
  t.match(faults(`${route}METHODS = P\n`), /METHODS = "P": "P" is not a method/);
  t.match(
    faults('[gate.x]\nURL = /a\nSUBJECT = size:all\n'),
    /a template has no \{owner\}\. Add it, or write OWNER/,
  );
  t.match(faults('[gate.x]\nURL = upload\nSUBJECT = none\n'), /not a path: it does not begin with \//);
  t.match(
    faults('[gate.x]\nURL = /{user}\nSUBJECT = none\n'),
    /not understood at "\{user\}": known are \{owner\}, \{repo\}/,
  );
  t.match(faults('[gate.x]\nURL = /{owner}/{owner}\nSUBJECT = none\n'), /a placeholder twice/);
  t.match(faults(`[gate.x]\nURL = ${'/a'.repeat(21)}\nSUBJECT = none\n`), /longer than 20 names/);
  t.match(faults('[gate.x]\nURL = /{owner}\nSUBJECT = size:lfs\n'), /SUBJECT = "size:lfs": not a subject/);
  t.match(faults(`${route}URI = /x\n`), /URI: this version does not know this key\. Did you mean URL\?/);
  t.match(faults('[gate.a b]\nURL = /x\n'), /\[gate\.a b\]: this version does not know this section/);
  t.end();
});

t.test('routes of the environment, too, are printed, and are read anew on a reload', t => {
  const env = {
    SOFTQUOTA__GATE_0X2E_TUS__URL: '/files/{owner}',
    SOFTQUOTA__GATE_0X2E_TUS__SUBJECT: 'size:git:lfs',
  };
  const loaded = load(t, route, env);
  const printed = printConfig(loaded);
  t.match(printed, /\[gate\.uploads\]\nURL = \/upload\/\{owner\}\/\*\* {2}# .*app\.ini:2\n/);
  t.match(printed, /\[gate\.tus\]\nURL = \/files\/\{owner\} {2}# SOFTQUOTA__GATE_0X2E_TUS__URL\n/);
  const before = configOf(t, '');
  const changed = compareConfigs(before, loaded.config).filter(({ section }) => section === 'gate.tus');
  t.match(changed, [
    { name: 'URL', reloads: true },
    { name: 'SUBJECT', reloads: true },
  ]);
  t.equal(changed.length, 2);
  t.strictSame(merged(before, loaded.config).gate, loaded.config.gate);
  t.end();
});
