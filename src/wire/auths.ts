/**
 * OAuth2 sources. In answers, texts without a value are empty; in requests, null means the same as absent.
 *
 * The mapping is checked by its reader and not by the schema, because its faults are reported with their
 * places.
 */

import { z } from 'zod';
import { longestName } from '../quota/index.ts';
import { text as anyText, atMost, component, mostOf, nameOrNothing, names, newName } from './bounds.ts';
import { mappingShape } from './mapping.ts';

const text = anyText.nullish();
const name = anyText.meta({ maxLength: longestName, pattern: nameOrNothing }).nullish();
const flag = z.boolean().nullish();

const scopes = z
  .union([atMost(mostOf.scopes, z.array(anyText)), anyText], {
    error: 'expected a list of names, or one text with spaces between',
  })
  .nullish()
  .meta({ description: 'A list, or one text with spaces between; `openid` is always asked for.' });

const fields = {
  client_secret: text.meta({ description: 'Never returned. Empty: the provider needs no secret.' }),
  scopes,
  username_claim: name.meta({
    description: 'The claim with the user name; default: `preferred_username`.',
  }),
  trust_usernames: flag.meta({
    description: 'Users with the same name at the provider and on this server are the same person.',
  }),
  admin_group_claim_name: name,
  admin_group: text.meta({
    description: 'Members of this group at the provider are administrators on this server.',
  }),
  quota_group_claim_name: name.meta({
    description: 'Claim name providing group names for this source to be used for quota management.',
  }),
  quota_group_map: z
    .unknown()
    .optional()
    .meta({
      ...mappingShape,
      description:
        'Map claimed groups to quota groups: an object of lists, `{"group at the provider": ["quota group"]}`, or its JSON text.',
    }),
  quota_group_map_removal: flag.meta({
    description:
      'Remove users from synchronized quota groups if user does not belong to corresponding group.',
  }),
  missing_claim: z.enum(['remove', 'keep']).nullish().meta({
    description:
      'If the claim is absent: `remove` treats it like a claim without groups, `keep` changes nothing.',
  }),
  sign_out_at_provider: flag.meta({
    description: 'A sign-out also ends the session at the provider (OpenID Connect RP-Initiated Logout).',
  }),
  is_active: flag,
};

export const newSource = component('NewSource', {
  name: newName,
  openid_connect_auto_discovery_url: anyText.meta({
    description: 'The issuer, or its address with /.well-known/openid-configuration.',
  }),
  client_id: anyText,
  ...fields,
});

export type NewSource = z.output<typeof newSource>;

export const sourceEdit = z
  .object({ name: newName.nullish(), openid_connect_auto_discovery_url: text, client_id: text, ...fields })
  .meta({
    id: 'SourceEdit',
    description:
      'Fields that are left out stay the same. With another provider, the secret has to be given again.',
  });

export type SourceEdit = z.output<typeof sourceEdit>;

const mapping = z
  .record(z.string(), names)
  .meta({ description: 'Quota groups for each group at the provider.' });

export const source = component('Source', 'A provider that users sign in with.', {
  id: z.number().int(),
  name: z.string(),
  openid_connect_auto_discovery_url: z.string(),
  client_id: z.string(),
  client_secret_state: z.enum(['none', 'set', 'unreadable']).meta({
    description: '`unreadable`: it was encrypted with a key that `[security] SECRET_KEY` does not have.',
  }),
  scopes: names,
  username_claim: z.string(),
  trust_usernames: z.boolean(),
  admin_group_claim_name: z.string(),
  admin_group: z.string(),
  quota_group_claim_name: z.string(),
  quota_group_map: mapping,
  quota_group_map_removal: z.boolean(),
  missing_claim: z.enum(['remove', 'keep']),
  sign_out_at_provider: z.boolean(),
  is_active: z.boolean(),
  unknown_quota_groups: names.meta({ description: 'Quota groups in the mapping that do not exist.' }),
  redirect_uri: z.string().meta({ description: 'The redirect URI to enter at the provider.' }),
  post_logout_redirect_uri: z.string().meta({
    description: 'With `sign_out_at_provider`: the URI for sign-outs to enter at the provider, too.',
  }),
  created_at: z.string(),
});

export type Source = z.infer<typeof source>;

export const savedSource = source
  .extend({
    warning: z
      .string()
      .nullable()
      .meta({
        description:
          'Says that nobody can sign in with the source at the moment, or that a sign-out cannot end the session at the provider; the log ' +
          'has the reason. The source is saved nevertheless.',
      }),
  })
  .meta({ id: 'SavedSource' });

export type SavedSource = z.infer<typeof savedSource>;

const claims = z
  .custom<Readonly<Record<string, unknown>>>(
    value =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length <= mostOf.claims,
    `expected an object of at most ${mostOf.claims} claims, as an ID token has it`,
  )
  .meta({
    type: 'object',
    maxProperties: mostOf.claims,
    description: 'The claims as the provider sends them: the payload of an ID token.',
  });

export const claimed = z
  .object({ user: newName, claims })
  .meta({ id: 'Claimed', description: 'The claims of a provider about a user.' });

export const triedClaims = z
  .object({ user: text.meta({ description: 'Without it: the user in the claims.' }), claims })
  .meta({ id: 'TriedClaims' });

export const triedSource = z.object({ source: newSource, user: text, claims }).meta({
  id: 'TriedSource',
  description: 'A source as it would be saved, and its claims about a user.',
});

export type TriedSource = z.output<typeof triedSource>;

export const synchronization = component('Synchronization', {
  outcome: z.enum(['synchronized', 'kept', 'overage', 'off']).meta({
    description:
      '`kept`: the claim is absent, and `missing_claim` is `keep`; `overage`: the provider has too many groups to name ' +
      'them; `off`: the source names no claim. Nothing is changed in these three.',
  }),
  claimed: names.meta({ description: 'Groups at the provider.' }),
  groups: names.meta({ description: "The user's quota groups afterwards." }),
  added: names,
  removed: names,
  skipped: names.meta({ description: 'Mapped and claimed quota groups that do not exist.' }),
  ignored: names.meta({
    description: 'The parts of the claim that could not be understood, each with its position.',
  }),
});

export type Synchronization = z.infer<typeof synchronization>;

export const triedSynchronization = synchronization
  .extend({
    is_known: z.boolean().meta({ description: 'True if the user exists.' }),
    administration: z.enum(['given', 'ended', 'unchanged']).meta({
      description: 'The effect of a sign-in with these claims on the administrator rights of the user.',
    }),
    unknown_quota_groups: names,
  })
  .meta({ id: 'TriedSynchronization' });

export type TriedSynchronization = z.infer<typeof triedSynchronization>;

export const newLink = z
  .object({ subject: newName.meta({ description: 'The claim `sub` of the user at this provider.' }) })
  .meta({ id: 'NewLink' });

export const link = component('Link', 'A link between an account at the provider and a user.', {
  user: z.string(),
  subject: z.string(),
  gives_administration: z.boolean().meta({ description: 'A source made the user an administrator.' }),
  created_at: z.string(),
});

export type Link = z.infer<typeof link>;
