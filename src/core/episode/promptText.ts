/**
 * Returns the text of a row's prompt with the observation that reset appended. A prompt is a string or, as in TRL's
 * conversational format, a list of messages.
 */
export function promptText(row: Readonly<Record<string, unknown>>, observation: string | null): string {
	const { prompt } = row;
	const texts: string[] = [];
	if (typeof prompt === 'string') texts.push(prompt);
	else if (Array.isArray(prompt)) {
		for (const message of prompt) {
			const content: unknown = (message as { content?: unknown } | null)?.content;
			if (typeof content === 'string') texts.push(content);
		}
	}
	return texts.join('\n\n') + (observation ?? '');
}
