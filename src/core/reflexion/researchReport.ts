import { formatCounted } from '../../base/format.ts';
import { markdownFence, markdownLine, markdownParagraphs } from './markdownText.ts';
import type { Research, ResearchAnswer } from './research.ts';

/**
 * Formats a research run as a Markdown document: the answer with its references and their evidence, unresolved critique
 * points, the stop reason, each draft with its critique, and all tool calls. Escapes all text from the model and its
 * sources.
 */
export function researchReport(research: Research): string {
	const { question, result, open, reason, answers, tools, faults } = research;
	return `${[
		`# ${markdownLine(question) || 'Research'}`,
		...(question.includes('\n') || question.length > 300 ? [markdownParagraphs(question)] : []),
		'## Answer',
		result === null ? '*No answer.*' : markdownParagraphs(result.text),
		...section('## References', referenceList(research)),
		'## Unresolved critique',
		open.length === 0
			? result?.critique === null
				? '*The answer was not critiqued.*'
				: '*None: the critique found nothing missing or superfluous.*'
			: open.map(({ kind, text }) => `- **${kind}:** ${markdownLine(text, 2000)}`).join('\n'),
		'## Stop reason',
		`${markdownLine(reason, 1000)}`,
		'## Statistics',
		numbers(research),
		'## Critique history',
		answers.length === 0 ? '*No drafts.*' : answers.map(history).join('\n\n'),
		...section(
			'## Tool log',
			tools.map((run, i) => toolEntry(run, i)),
		),
		...section(
			'## Errors',
			faults.length === 0
				? []
				: [faults.map(({ part, message }) => `- **${part}:** ${markdownLine(message, 600)}`).join('\n')],
		),
	].join('\n\n')}\n`;
}

const section = (title: string, parts: readonly string[]): string[] => (parts.length === 0 ? [] : [title, ...parts]);

function referenceList({ result, evidence, tools }: Research): string[] {
	if (result === null || (result.references.length === 0 && result.dangling.length === 0)) return [];
	const entries = result.references.map(({ number, source, evidence: node, supported, note }) => {
		const verdict =
			supported === true
				? 'supports the citation'
				: supported === false
					? `**not supported:** ${markdownLine(note, 400)}`
					: `*not judged:* ${markdownLine(note, 400)}`;
		const found = evidence.get(source);
		const place = tools.findIndex((run) => run.node.id === node);
		const origin = place === -1 ? '' : ` (query ${place + 1} in the log)`;
		return [
			`**\\[${number}\\]** ${markdownLine(source, 500)}${origin}: ${verdict}`,
			...(found?.title ? [`*${markdownLine(found.title)}*`] : []),
			...(found === undefined || found.text === '' ? [] : [markdownFence(found.text, 1500)]),
		].join('\n\n');
	});
	const dangling = result.dangling.map((number) => `**\\[${number}\\]** is cited but not listed.`);
	return [...entries, ...dangling];
}

function numbers({ policy, tokens, promptTokens, cost, seconds, answers, tools }: Research): string {
	const failed = tools.filter(({ error }) => error !== null).length;
	const rows: (readonly [string, string])[] = [
		['Policy', markdownLine(policy)],
		['Tokens', promptTokens === null ? `${tokens} generated` : `${promptTokens} prompt + ${tokens} generated`],
		...(cost === null ? [] : [['Cost', cost.toFixed(4)] as const]),
		['Time', `${seconds.toFixed(1)} s`],
		['Revisions', String(answers.filter(({ role }) => role === 'revision').length)],
		['Queries', failed === 0 ? String(tools.length) : `${tools.length} (${failed} failed)`],
	];
	return ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');
}

function history({ role, text, critique, references, dangling }: ResearchAnswer, index: number): string {
	const points =
		critique === null
			? '*Not critiqued.*'
			: critique.length === 0
				? '*The critique found nothing missing or superfluous.*'
				: critique
						.map(
							({ kind, text: point, addressed }) =>
								`- [${addressed ? 'x' : ' '}] ${kind}: ${markdownLine(point, 2000)}${addressed ? '' : ' (open)'}`,
						)
						.join('\n');
	const broken = references.filter(({ supported }) => supported === false).length;
	const checks = [
		formatCounted(references.length, 'reference'),
		...(broken > 0 ? [`${broken} not supported`] : []),
		...(dangling.length > 0 ? [`${dangling.length} cited but not listed`] : []),
	];
	const cited = references.length + dangling.length === 0 ? '' : `\n\n*${checks.join(', ')}*`;
	const name = role === 'draft' ? 'Draft' : `Revision ${index}`;
	return `### ${name}\n\n${markdownParagraphs(text)}${cited}\n\n${points}`;
}

function toolEntry({ tool, query, sources, note, error }: Research['tools'][number], index: number): string {
	const head = `### ${index + 1}. ${markdownLine(tool, 60)}`;
	const asked = markdownFence(query, 2000);
	if (error !== null) return [head, asked, `**Failed:** ${markdownLine(error, 1000)}`].join('\n\n');
	if (sources === null) return [head, asked, '*Not run.*'].join('\n\n');
	const found = sources.map(
		({ source, title, text }) =>
			`- ${markdownLine(source, 500)}${title === null ? '' : ` (${markdownLine(title)})`}: ${markdownLine(text, 300)}`,
	);
	return [
		head,
		asked,
		found.length === 0 ? '*No results.*' : found.join('\n'),
		...(note === null ? [] : [markdownLine(note, 600)]),
	].join('\n\n');
}
