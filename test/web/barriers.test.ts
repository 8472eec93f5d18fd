/** axe, on every page of the administrators, in both colour schemes, on a desk and on a phone. */

import t from 'tap';
import { administratorsPages, oddNames, realm } from './realm.ts';
import { barriersInAnyLook, isLoaded, reads, Web } from './world.ts';

t.setTimeout(900_000);

const world = await realm(t);
const web = await Web.open(t);
const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']));

/**
 * Parts that are only there once somebody asks for them: a page, what to press, and what is then to be read.
 */
const opened = [
  ['groups', 'New group', 'Name of the group'],
  ['rules', 'New rule', 'Kinds of data, counted together'],
  ['groups/free', 'Edit', 'Members'],
  ['groups/free', 'Delete', 'What would change'],
  ['owners', 'New owner', 'Create owner'],
  ['owners', 'Choose all of this page', 'Change a group'],
  ['events?kind=policy&q=one-gigabyte', 'Show change', 'Undo this change'],
  ['owners/bob', 'Edit groups', 'Save the groups'],
  ['owners/bob', 'Rename', 'New name'],
  ['owners/bob', 'New token', 'Last valid day'],
] as const;

t.test('nothing keeps anybody out, on a desk and on a phone, light and dark', async t => {
  for (const path of [
    ...administratorsPages([oddNames.long]),
    'owners/bob',
    'owners?state=over',
    'nowhere',
    'groups/free',
    'rules/one-gigabyte',
  ]) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
    t.same(await barriersInAnyLook(tab), [], path === './' ? 'overview' : path);
  }
  for (const [path, button, words] of opened) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
    await tab.click(`main ::-p-text(${button})`);
    await reads(tab, words, 'main');
    await isLoaded(tab);
    t.same(await barriersInAnyLook(tab), [], `${path}: ${button}`);
  }
});
