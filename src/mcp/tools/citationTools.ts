import * as v from 'valibot';
import { pageOf } from '../answer.ts';
import { checkCitations, citationProblem } from '../citations/checkCitations.ts';
import * as input from '../inputs.ts';
import { defineTool } from '../tool.ts';

export const checkCitationsTool = defineTool({
	name: 'check_citations',
	title: 'Check citations',
	description:
		'Check the rl:// citations in a Markdown text: whether each address resolves, and whether the number quoted next to it matches the data. Call it before you submit a report.',
	input: v.object({
		text: input.text('Markdown text.', 500_000),
		only_problems: v.optional(
			input.described(v.boolean(), 'Whether to list only citations that do not resolve or quote a wrong number.'),
			false,
		),
		limit: input.limit(100),
		cursor: input.cursor,
	}),
	async run({ text, only_problems, limit, cursor }, context) {
		const { citations, sound, truncated } = await checkCitations(text, context);
		const problems = citations.filter((citation) => citationProblem(citation) !== null);
		const page = pageOf(only_problems ? problems : citations, cursor, limit);
		return { sound, citations: citations.length, problems: problems.length, truncated, ...page };
	},
});
