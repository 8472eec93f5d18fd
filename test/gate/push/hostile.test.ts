/** Input of a pusher in the environment, the lines or the path: it is data. */

import t from 'tap';
import { isWithin, quarantinePath } from '../../../src/layout/index.ts';
import { creates, incoming, MB, openPushWorld, unit, updates } from './world.ts';

const objects = `${unit}/objects`;
const gitlab = { GIT_QUARANTINE_PATH: '', GL_REPOSITORY: 'project-1' };

const environments: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a path that goes up': { GIT_QUARANTINE_PATH: `${objects}/../../eve.git/objects` },
  'a path that goes up behind its name': { GIT_QUARANTINE_PATH: `${objects}/${incoming}/..` },
  "another repository's": { GIT_QUARANTINE_PATH: `/srv/git/eve/x.git/objects/${incoming}` },
  'a name with a line break': { GIT_QUARANTINE_PATH: `${objects}/incoming-aa\naaa` },
  'a line break behind the name': { GIT_QUARANTINE_PATH: `${objects}/incoming-aaaaaa\n` },
  'a command': { GIT_QUARANTINE_PATH: '$(touch /tmp/x)' },
  'a command as name': { GIT_QUARANTINE_PATH: `${objects}/incoming-$(id)` },
  'a glob': { GIT_QUARANTINE_PATH: `${objects}/incoming-??????` },
  'only a slash': { GIT_QUARANTINE_PATH: '/' },
  'the objects themselves': { GIT_QUARANTINE_PATH: objects },
  'the pack folder': { GIT_QUARANTINE_PATH: `${objects}/pack` },
  'a long name': { GIT_QUARANTINE_PATH: `${objects}/${'incoming-'.repeat(6000)}` },
  'bytes that are not UTF-8': {
    GIT_QUARANTINE_PATH: `${objects}/incoming-\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9`,
  },
  'a removed quarantine': { GIT_QUARANTINE_PATH: `${objects}/tmp_objdir-gone-aaaaaa` },
  empty: { GIT_QUARANTINE_PATH: '' },
  "GitLab's variable alone": { GIT_QUARANTINE_PATH: '', GIT_OBJECT_DIRECTORY: objects },
  'GitLab by another path': { ...gitlab, GIT_OBJECT_DIRECTORY: `${unit}/../eve.git/objects` },
  'GitLab with the root': { ...gitlab, GIT_OBJECT_DIRECTORY: '/' },
  "GitLab with another repository's quarantine": {
    ...gitlab,
    GIT_OBJECT_DIRECTORY: `/srv/git/eve/x.git/objects/${incoming}`,
  },
  "GitLab with another's edit": {
    ...gitlab,
    GIT_OBJECT_DIRECTORY: '/srv/git/+gitaly/tmp/quarantine-0123456789abcdef-1',
  },
  'GitLab with an edit that goes up': {
    ...gitlab,
    GIT_OBJECT_DIRECTORY: '/srv/+gitaly/tmp/quarantine-../../../etc',
  },
  'GitLab with a snapshot in the variable': {
    ...gitlab,
    GIT_OBJECT_DIRECTORY: `/srv/+gitaly/snapshots/1/2/x.git/objects/${incoming}`,
  },
  'a project with a line break': { ...gitlab, GL_PROJECT_PATH: 'bob\n/x', script: '/h/x' },
  'a project that goes up': { ...gitlab, GL_PROJECT_PATH: '../../etc', script: '/h/x' },
  'an actor with colours': { LOGNAME: '\x1b[31mroot' },
  'an actor that is long': { GL_USER: 'x'.repeat(60_000), GL_REPO: 'x' },
  'an actor with a line break': { GITEA_PUSHER_NAME: 'root\nSep 1 sshd', GITEA_REPO_NAME: 'x' },
  'a program of their own': { GIT_EXEC_PATH: '/home/eve/bin' },
  'a certificate': { GIT_PUSH_CERT: '$(id)' },
  'a forge that is none': { GITEA_INTERNAL_PUSH: 'true', script: './hooks/pre-receive.d/00-softquota' },
  'a namespace': { GIT_NAMESPACE: '../../x' },
  'fields of the question': { more: 'no', process: '0\n0', script: '\x07' },
};

/** Makes the owner's push refused, so that nothing is let through by a variable. */
async function refusingWorld(t: Parameters<typeof openPushWorld>[0]) {
  const world = await openPushWorld(t);
  world.walk(unit, 'bob', 11 * MB);
  world.walk('/srv/git/eve/x.git', 'eve', 0);
  const looked: string[] = [];
  const { look } = world.services;
  Object.assign(world.services, {
    look: async (path: string, name: string, deadlineMs: number) => {
      const place = quarantinePath(path, name);
      if (place !== null) looked.push(place);
      return (await look?.(path, name, deadlineMs)) ?? { is: 'absent' };
    },
  });
  return { ...world, looked };
}

function isShown(t: Parameters<typeof openPushWorld>[0], text: string, what: string): void {
  t.notMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Cs}]/u, `${what}: no control character gets out`);
  t.ok(text.length < 20_000, `${what}: it is short`);
}

t.test('no environment lets a push through that is refused', async t => {
  const { push, looked, told } = await refusingWorld(t);
  for (const [what, fields] of Object.entries(environments)) {
    for (const lines of [creates('refs/heads/a'), updates('refs/heads/a')]) {
      const { status, text } = await push({ fields, lines });
      t.equal(status, 413, what);
      isShown(t, text, what);
    }
  }
  t.not(looked.length, 0);
  for (const place of looked) t.ok(isWithin(place, objects), place);
  for (const { actor } of told.refused) t.notMatch(actor, /\p{Cc}/u);
  t.match([told.pushes.length, told.unforeseen], [0, []], 'nothing is let through, and nothing breaks');
});

const paths: readonly (readonly [string, number])[] = [
  ['/', 404],
  ['//', 404],
  ['/srv/git', 404],
  ['/srv/git/bob', 404],
  [`${unit}x`, 404],
  [`${unit}\n`, 404],
  [`${unit} `, 404],
  [`${unit}/`, 413],
  [`${unit}//`, 413],
  [`${unit}/.`, 413],
  [`${unit}/objects/..`, 413],
  [`/srv/../srv/git/bob/./app.git`, 413],
  [`${unit}/worktrees/x`, 413],
  [`${unit}/refs/heads/x`, 413],
  [`${unit}/modules/x/modules/y`, 413],
  [`${unit}/\x1b[2J`, 413],
  [`${unit}/\u202e`, 413],
  [`${unit}/$(id)`, 413],
  [`${unit}/..`, 404],
  [`${unit}/../../eve/x.git`, 200],
  ['/srv/git/eve/x.git/../../bob/app.git', 413],
  [`/${'x'.repeat(4094)}`, 404],
  [`/${'x/'.repeat(3000)}`, 413],
];

t.test('a path leads to its own unit, however it is written', async t => {
  const { push, told } = await refusingWorld(t);
  for (const [directory, expected] of paths) {
    const { status, text } = await push({ fields: { directory } });
    t.equal(status, expected, JSON.stringify(directory).slice(0, 60));
    isShown(t, text, directory);
  }
  t.same(told.unforeseen, []);
});

t.test('lines that mean nothing let nothing pass, and break nothing', async t => {
  const { push, told } = await refusingWorld(t);
  const zeros = '0'.repeat(40);
  for (const lines of [
    '\n\n\n',
    'x\n'.repeat(10_000),
    `${zeros} ${zeros}\n`,
    Buffer.alloc(1024 * 1024, 0),
    Buffer.alloc(1024 * 1024, 0xff),
    `${zeros} ${'1'.repeat(40)} refs/heads/\x1b[2J\n`,
    `${zeros} ${'1'.repeat(40)} refs/heads/${'\x07/'.repeat(60)}\n`,
    Buffer.alloc(1024 * 1024, '/HEAD'),
    `${zeros} ${'1'.repeat(40)} refs/\x1b[31m/HEAD\n${zeros} ${'1'.repeat(40)} refs/\x1b[31m/objects/a\n`,
  ]) {
    const { status, text } = await push({ lines });
    t.equal(status, 413, JSON.stringify(lines.toString('latin1')).slice(0, 60));
    isShown(t, text, 'lines');
  }
  t.same([told.pushes, told.unforeseen], [[], []]);
});
