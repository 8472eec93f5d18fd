/** What the ledger's rooms hold, as it stands on the wire, and back. */

import { profileOf } from '../../identity/index.ts';
import type { OwnerUsage } from '../../ledger/index.ts';
import type * as policy from '../../policy/index.ts';
import { asTree, type Group as HeldGroup, type Rule as HeldRule } from '../../quota/index.ts';
import type { OwnerRecord } from '../../store/index.ts';
import type { Group, OwnQuotaInfo, QuotaInfo, Rule, RuleEdit, User } from '../../wire/index.ts';

export function ruleShown({ name, limitBytes, subjects }: HeldRule): Rule {
  return { name, limit: limitBytes, subjects };
}

export function groupShown({ name, rules }: HeldGroup): Group {
  return { name, rules: rules.map(ruleShown) };
}

export function quotaShown({ usage }: OwnerUsage, groups: readonly HeldGroup[]): QuotaInfo {
  return { used: asTree(usage), groups: groups.map(groupShown) };
}

/** Without names, which are for administrators. */
export function ownQuotaShown({ usage }: OwnerUsage, groups: readonly HeldGroup[]): OwnQuotaInfo {
  return {
    used: asTree(usage),
    groups: groups.map(({ rules }) => ({
      rules: rules.map(({ limitBytes, subjects }) => ({ limit: limitBytes, subjects })),
    })),
  };
}

export function userShown(view: policy.View, { id, name, type, since }: OwnerRecord): User {
  const { email, fullName, isAdmin } = profileOf(view, id);
  return {
    id,
    login: name,
    username: name,
    type,
    email,
    full_name: fullName,
    is_admin: isAdmin,
    created: new Date(since).toISOString(),
  };
}

export function editOf({ limit, subjects }: RuleEdit): policy.RuleEdit {
  return {
    ...(limit === undefined || limit === null ? {} : { limitBytes: limit }),
    ...(subjects === undefined || subjects === null ? {} : { subjects }),
  };
}
