import { Failure } from '../../base/failure.ts';
import { goldText } from '../../core/dataset/answer.ts';
import { messageText } from '../../core/trace/messageText.ts';
import { readPolicyTemplate } from '../../policies/control/policyTemplate.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';

/**
 * Returns the problem that a recorded rollout answers. The run's prompt template is removed, because the policy applies
 * its own.
 */
export async function problemOfRollout(
	run: string,
	{ prompt: given, answer, row }: RolloutLine,
): Promise<SearchProblem> {
	const prompt =
		typeof given === 'string'
			? withoutTemplate(given, (await readPolicyTemplate(run)).template?.prompt)
			: messageText(given.filter(({ role }) => role === 'user').slice(-1));
	if (prompt.trim() === '') throw new Failure('missing', 'The problem text was not recorded.');
	const fields = typeof row === 'object' && row !== null && !Array.isArray(row) ? (row as Record<string, unknown>) : {};
	return { prompt, answer: goldText(answer), row: fields };
}

/** Removes a run's prompt template from a prompt, if present. */
export function withoutTemplate(text: string, template: string | undefined): string {
	const [before = '', after = ''] = template?.split('{prompt}') ?? [];
	const inside = text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after);
	return inside ? text.slice(before.length, text.length - after.length) : text;
}
