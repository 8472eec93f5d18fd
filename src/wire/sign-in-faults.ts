/**
 * Reasons why a sign-in or sign-out with a source failed. The module has no dependencies, so that the browser
 * can load it.
 */

/**
 * Sentences that the page /sign-in shows for `?fault=CODE`. No text from outside is ever shown there; the log
 * has the details.
 */
export const signInFaults = {
  unknown_source: 'This way to sign in does not exist.',
  inactive_source: 'This way to sign in is switched off.',
  provider_away: 'The identity provider does not answer. Try again in a moment.',
  provider_refused: 'The identity provider did not sign you in.',
  not_started_here: 'This sign-in was started in another browser, or too long ago. Try again.',
  not_believed:
    'The answer of the identity provider could not be verified. An administrator can find details in the log.',
  misconfigured:
    'This way to sign in is not set up completely. An administrator can find details in the log.',
  nameless:
    'The identity provider does not send your user name. An administrator can find details in the log.',
  name_unusable:
    'Your user name at the identity provider is not possible on this server. Ask an administrator to link your account to a user.',
  name_taken:
    'A user on this server already has your name. If that is you, ask an administrator to link your account to that user: the log shows how.',
  not_now: 'At the moment nobody can sign in. Try again soon.',
  still_signed_in: 'You are still signed in, because at the moment nobody can sign out. Try again soon.',
  still_signed_in_there:
    'You are signed out on this server, but still signed in at the identity provider. An administrator can find details in the log.',
} as const;

export type SignInFaultCode = keyof typeof signInFaults;
