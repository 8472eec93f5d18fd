/**
 * Finds the recipients of a notice: webhooks that want it, the owner that it is about, and administrators.
 */

import type { MailSettings, NoticeType, WebhookSettings } from '../config/index.ts';
import type { Documents } from '../documents/index.ts';
import { administratorAddresses, membersOf, profileOf, wantsMail } from '../identity/index.ts';
import type { NoticeDocument, Target } from './deliveries.ts';

export type MailTarget = Extract<Target, { readonly via: 'mail' }>;

export interface NoticeSettings {
  readonly webhooks: readonly WebhookSettings[];
  readonly mail: MailSettings | null;
}

type OwnersAndSnapshot = Pick<Documents, 'owners' | 'snapshot'>;

export function recipientsOf(
  notice: NoticeDocument,
  { webhooks, mail }: NoticeSettings,
  documents: OwnersAndSnapshot,
): readonly Target[] {
  if (notice.type === 'test') return [];
  const { type } = notice;
  const hooks =
    type === 'digest' ? [] : webhooks.filter(({ events }) => events.length === 0 || events.includes(type));
  return [
    ...hooks.map(({ name }): Target => ({ via: 'webhook', name })),
    ...(mail === null ? [] : mailRecipients(notice, type, mail, documents)),
  ];
}

export function adminAddresses({ admins }: MailSettings, { snapshot }: OwnersAndSnapshot): readonly string[] {
  return admins.length > 0 ? admins : administratorAddresses(snapshot);
}

function mailRecipients(
  notice: NoticeDocument,
  type: NoticeType | 'digest',
  mail: MailSettings,
  documents: OwnersAndSnapshot,
): readonly Target[] {
  const about = notice.owner === null ? undefined : documents.owners.named(notice.owner);
  const isForOwners = type !== 'digest' && mail.ownerEvents.includes(type) && isForOwner(notice);
  const owners = isForOwners ? ownersAddresses(about, documents) : [];
  const isTheirs = type !== 'request' || notice.data.action === 'asked';
  // A group has no mail address, so administrators get notices of its limits instead.
  const isOfGroup = isForOwners && notice.owner === null && notice.data.per === 'group';
  const isForAdmins = type === 'digest' || isOfGroup || (mail.adminEvents.includes(type) && isTheirs);
  const known = new Set(owners.map(({ address }) => address));
  const admins = isForAdmins ? adminAddresses(mail, documents) : [];
  return [
    ...owners,
    ...admins
      .filter(address => !known.has(address))
      .map(address => ({ via: 'mail' as const, address, ownerId: null, aboutId: null })),
  ];
}

/**
 * Tells whether the owner gets a notice. Owners get none of their own requests, and none of limits in report
 * mode, which refuse nothing.
 */
function isForOwner({ type, data }: NoticeDocument): boolean {
  if (type === 'request') return data.action === 'granted' || data.action === 'declined';
  return (type !== 'refusal' && type !== 'grace') || data.mode === 'enforce';
}

/**
 * Returns the present name of the owner whom an owner's mail is about; undefined: its recipient is to get it
 * no more.
 */
export function ownerInMail(
  notice: NoticeDocument,
  { ownerId, aboutId }: MailTarget,
  documents: OwnersAndSnapshot,
): string | undefined {
  const { owners } = documents;
  const owner = aboutId === null ? owners.named(notice.owner ?? '') : owners.byId(aboutId);
  return ownersAddresses(owner, documents).some(to => to.ownerId === ownerId) ? owner?.name : undefined;
}

/**
 * Returns the address of an owner; for an organization without one, those of its members with role `owner`.
 */
function ownersAddresses(
  owner: ReturnType<Documents['owners']['byId']>,
  { snapshot }: OwnersAndSnapshot,
): readonly MailTarget[] {
  if (owner === undefined) return [];
  const own = profileOf(snapshot, owner.id).email;
  const people =
    own === '' && owner.type === 'organization'
      ? membersOf(snapshot, owner.id).flatMap(({ user, role }) => (role === 'owner' ? [user] : []))
      : [owner.id];
  return people
    .map(ownerId => {
      const { email: address } = profileOf(snapshot, ownerId);
      return { via: 'mail' as const, address, ownerId, aboutId: owner.id };
    })
    .filter(({ address, ownerId }) => address !== '' && wantsMail(snapshot, ownerId));
}
