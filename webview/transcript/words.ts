import type { TranscriptMessage, TranscriptRole } from '../../src/core/transcript/transcript.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

export const roleNames: Readonly<Record<TranscriptRole, string>> = {
	system: 'System',
	user: 'User',
	assistant: 'Assistant',
	tool: 'Tool',
	other: 'Other',
};

/** Returns a one-line summary of a message. */
export function summaryOf(message: TranscriptMessage, longest = 240): string {
	const { text, thinking, calls, attachments } = message;
	const parts: string[] = [];
	if (text.trim() !== '') parts.push(plainLabel(text.slice(0, longest * 4).trim(), longest));
	else if (thinking.trim() !== '')
		parts.push(`(thinking) ${plainLabel(thinking.slice(0, longest * 4).trim(), longest)}`);
	if (calls.length > 0) {
		const names = calls.slice(0, 5).map(({ name }) => plainLabel(name, 60));
		parts.push(`calls ${names.join(', ')}${calls.length > 5 ? ` and ${calls.length - 5} more` : ''}`);
	}
	if (attachments.length > 0)
		parts.push(
			`[${attachments
				.slice(0, 5)
				.map((kind) => plainLabel(kind, 30))
				.join(', ')}]`,
		);
	return parts.length === 0 ? 'Empty' : parts.join(' · ');
}

/**
 * Returns a speaker name such as "Assistant (AIMessage)". The original label is added only if it differs from the role.
 */
export function speakerOf({ role, label, name }: TranscriptMessage): string {
	const plain = label.toLowerCase().replace(/message(?:chunk)?$/, '');
	const own = plain === roleNames[role].toLowerCase() || plain === '' ? '' : ` (${plainLabel(label, 40)})`;
	return `${roleNames[role]}${own}${name === null ? '' : ` ${plainLabel(name, 60)}`}`;
}
