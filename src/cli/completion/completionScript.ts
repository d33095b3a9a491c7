import type { Verb } from '../verb.ts';
import { bashCompletion } from './bashCompletion.ts';
import { fishCompletion } from './fishCompletion.ts';
import { zshCompletion } from './zshCompletion.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

const writers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** A shell's completion of all verbs, their options and the values of those. */
export function completionScript(shell: (typeof shells)[number], verbs: readonly Verb[]): string {
	return writers[shell](verbs);
}
