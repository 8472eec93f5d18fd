/**
 * Why signing in or out by a source did not come to it. Without dependencies, so that the app in the browser
 * has the same words.
 */

/**
 * The sentences that the page /sign-in shows for `?fault=CODE`, and nothing else: no text from outside is
 * ever shown there. The log has the details.
 */
export const signInFaults = {
  unknown_source: 'There is no such way to sign in.',
  inactive_source: 'Signing in this way is switched off.',
  provider_away: 'The provider of identities does not answer. Try again in a moment.',
  provider_refused: 'The provider of identities did not sign you in.',
  not_started_here: 'This sign-in was not begun in this browser, or was begun too long ago. Try again.',
  not_believed:
    'What the provider of identities said could not be verified. An administrator finds more in the log.',
  misconfigured: 'This way to sign in is not set up completely. An administrator finds more in the log.',
  nameless:
    'The provider of identities does not say what you are called. An administrator finds more in the log.',
  name_unusable:
    'You cannot be called here what you are called there. Ask an administrator to link you to a user.',
  name_taken:
    'Somebody here has your name already. If that is you, ask an administrator to link you to that user: the log says how.',
  not_now: 'Nobody can be signed in at the moment. Try again soon.',
  still_signed_in: 'You are still signed in: nobody can be signed out at the moment. Try again soon.',
  still_signed_in_there:
    'You are signed out here, and still signed in at the provider of identities. An administrator finds more in the log.',
} as const;

export type SignInFaultCode = keyof typeof signInFaults;
