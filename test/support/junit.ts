/** A test in a JUnit report. */
export interface JunitCase {
	readonly name: string;
	readonly outcome: 'passed' | 'failed' | 'skipped';
	/** Failure message, or the reason for skipping. */
	readonly words: string;
}

const plainText = (text: string) =>
	text
		.replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
		.replaceAll('&lt;', '<')
		.replaceAll('&gt;', '>')
		.replaceAll('&quot;', '"')
		.replaceAll('&apos;', "'")
		.replaceAll('&amp;', '&');

/** Parses the tests in a report written by pytest. */
export function readJunit(xml: string): JunitCase[] {
	return [...xml.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(([, head = '', body = '']) => {
		const name = plainText(head.match(/(?:^|\s)name="([^"]*)"/)?.[1] ?? '?');
		const file = plainText(head.match(/classname="([^"]*)"/)?.[1] ?? '')
			.split('.')
			.at(-1);
		const failed = body.match(/<(?:failure|error)[^>]*>([\s\S]*?)<\/(?:failure|error)>/);
		const skipped = body.match(/<skipped[^>]*?message="([^"]*)"/);
		const outcome = failed ? 'failed' : skipped ? 'skipped' : 'passed';
		return { name: `${file}: ${name}`, outcome, words: plainText((failed ?? skipped)?.[1] ?? '') };
	});
}
