/** One test of a JUnit report. */
export interface JunitCase {
	readonly name: string;
	readonly outcome: 'passed' | 'failed' | 'skipped';
	/** What was said about a failure, or why it was skipped. */
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

/** The tests of a report as pytest writes it. */
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
