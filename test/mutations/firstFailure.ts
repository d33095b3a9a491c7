/** `node --test` reporter that stops at the first failure: prints what failed and exits with status 1. */
import type { TestEvent } from 'node:test/reporters';

export default async function* firstFailure(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
	for await (const event of source) {
		if (event.type !== 'test:fail') continue;
		const { name, file, details } = event.data;
		const { message, cause } = details.error as Error;
		const text = (cause instanceof Error ? cause.message : message).split('\n')[0];
		yield `${name} (${file}): ${text}\n`;
		// Exit after the line has been written.
		setImmediate(() => process.exit(1));
		return;
	}
}
