import type { Verb } from '../verb.ts';
import { bashCompletion } from './bashCompletion.ts';
import { fishCompletion } from './fishCompletion.ts';
import { zshCompletion } from './zshCompletion.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

const writers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** Returns a shell's completion script for all verbs, options, and option values. */
export function completionScript(shell: (typeof shells)[number], verbs: readonly Verb[]): string {
	return writers[shell](verbs);
}
