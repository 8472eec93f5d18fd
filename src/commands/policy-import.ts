/**
 * `softquota policy import`: what a policy would change is shown, and then exactly that is changed, or
 * nothing.
 */

import { exitCodes, SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import type { NewWholePolicy, ReplacedPolicy, Simulation, WholePolicy } from '../wire/index.ts';
import type { DaemonClient } from './client.ts';
import { confirmed } from './confirm.ts';
import { printJson } from './output.ts';
import { policyInForce, sendPolicy, simulatedPolicy } from './policy-asked.ts';
import { type Difference, differenceOf, differenceText } from './policy-difference.ts';
import { draftOf, readPolicyFile } from './policy-file.ts';
import type { CommonOptions } from './settings.ts';
import { simulationText } from './simulated.ts';
import { print } from './streams.ts';

export interface ImportOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly createUsers?: boolean;
}

interface Prospect {
  /** Null, as the trial: nothing would change. */
  readonly difference: Difference | null;
  readonly after: ReplacedPolicy;
  readonly trial: Simulation | null;
}

/** Resolves with the exit status. */
export async function importPolicy(
  client: DaemonClient,
  wanted: NewWholePolicy,
  options: ImportOptions,
): Promise<number> {
  const { json = false, dryRun = false, yes = false, createUsers = false } = options;
  const before = await policyInForce(client);
  // The version is that of the shown policy, so that nothing is changed that nobody has seen.
  const body = { ...wanted, version: before.version };
  const after = await sendPolicy(client, body, { dryRun: true, createUsers });
  const difference = differenceOf(before, after);
  const trial = difference === null ? null : await simulatedPolicy(client, draftOf(withoutCreated(after)));
  if (!json) print(prospectText({ difference, after, trial }));
  const goesOn = difference !== null && !dryRun;
  if (goesOn && !yes && !json && !(await confirmed('Import it?'))) {
    print('Nothing was imported.\n');
    return exitCodes.refused;
  }
  if (goesOn) await sendPolicy(client, body, { dryRun: false, createUsers }).catch(changedMeanwhile);
  if (json) {
    printJson({ imported: goesOn, difference, created_users: after.created_users, simulation: trial });
  } else if (goesOn) print('\nImported. The policy is in force.\n');
  return exitCodes.done;
}

/** The policy in a file. Throws `invalid` where it is not all of a policy. */
export function policyInFile(file: string): NewWholePolicy {
  const { rules, groups, settings } = readPolicyFile(file);
  const fault = (words: string) => new SoftquotaError('invalid', `${file}: ${words}`);
  if (settings !== undefined) {
    throw fault(
      'settings: an import cannot change settings of app.ini; softquota policy simulate can try them',
    );
  }
  const missing = 'it is missing; an import replaces all rules and groups';
  if (rules === undefined) throw fault(`rules: ${missing}`);
  if (groups === undefined) throw fault(`groups: ${missing}`);
  return { rules, groups };
}

/** Users who are yet to be created store nothing, and no trial knows of them. */
function withoutCreated({ rules, groups, created_users }: ReplacedPolicy): Omit<WholePolicy, 'version'> {
  const created = new Set(created_users);
  return {
    rules,
    groups: groups.map(group => ({ ...group, users: group.users.filter(name => !created.has(name)) })),
  };
}

function prospectText({ difference, after, trial }: Prospect): string {
  if (difference === null || trial === null) {
    return 'Nothing would change: this policy is already in force.\n';
  }
  const created = after.created_users.map(name => `+ user ${printable(name)}\n`);
  return `${differenceText(difference)}${created.join('')}\n${simulationText(trial)}`;
}

function changedMeanwhile(error: unknown): never {
  if (!(error instanceof SoftquotaError) || error.code !== 'conflict') throw error;
  throw new SoftquotaError(
    'conflict',
    'somebody else changed the policy after these changes were shown. Nothing was imported: run the command again',
    { cause: error },
  );
}
