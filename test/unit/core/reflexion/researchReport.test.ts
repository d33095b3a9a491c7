import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { markdownFence, markdownLine, markdownParagraphs } from '../../../../src/core/reflexion/markdownText.ts';
import { readResearch } from '../../../../src/core/reflexion/research.ts';
import { researchReport } from '../../../../src/core/reflexion/researchReport.ts';
import { root } from '../../../scripts/paths.ts';
import { playedTool, reply, research } from './playedAgent.ts';

const golden = join(root, 'test/golden/reflexion/report.md');

const hostile =
	'<img src=x onerror=alert(1)> ![pixel](https://evil.example/p.png) [click](javascript:alert(1)) `code` \u202eturned\u001b[31m';

async function played() {
	const wiki = playedTool('wiki', {
		grpo: 'GRPO removes the value model of PPO and takes the mean reward of a group of 64 samples as the baseline.',
		hostile: `${hostile}\n\`\`\`\n# not a heading\n\`\`\`\``,
		down: new Failure('unavailable', `The wiki <b>is</b> down: see https://evil.example`),
	});
	return research(
		[
			'not JSON at all',
			reply({
				answer: `# Draft\n\n1. ${hostile}\n- one\n> two\n    four`,
				missing: ['the baseline of GRPO', hostile],
				superfluous: ['the list'],
				queries: [
					{ tool: 'wiki', query: 'grpo' },
					{ tool: 'wiki', query: 'hostile' },
					{ tool: 'wiki', query: 'down' },
				],
			}),
			reply({
				answer:
					'GRPO removes the value model and takes the mean reward of a group as the baseline [1]. It was made in 1817 by painters of wooden ships in Norway [2]. See [3].',
				missing: ['the KL penalty'],
				references: ['S1', 'S2'],
			}),
		],
		[wiki],
		{
			params: { rounds: 1, toolRetries: 1 },
			concurrency: 1,
			problem: { prompt: 'How does *GRPO* differ from PPO?', answer: null, row: {} },
		},
	);
}

describe('research report', () => {
	it('matches the golden file', async () => {
		const { events } = await played();
		const report = researchReport(readResearch(events));
		if (process.env.UPDATE_GOLDEN) await writeFile(golden, report);
		assert.equal(report, await readFile(golden, 'utf8'));
	});

	it('contains the critiques, references, tool calls and tokens from the log', async () => {
		const { events } = await played();
		const result = readResearch(events);
		assert.deepEqual([result.stop, result.reason], ['complete', 'All rounds are complete.']);
		assert.deepEqual(result.open, [{ kind: 'missing', text: 'the KL penalty', addressed: false }]);
		assert.deepEqual(
			result.answers[0]?.critique?.map(({ addressed }) => addressed),
			[true, true, true],
		);
		assert.deepEqual(
			result.result?.references.map(({ supported }) => supported),
			[true, false],
		);
		assert.deepEqual(result.result?.dangling, [3]);
		assert.deepEqual(
			result.tools.map(({ error }) => error === null),
			[true, true, false],
		);
		assert.deepEqual([result.tokens, result.promptTokens], [30, 60]);
		assert.equal(result.faults.length, 2);
	});

	it('is available for a log truncated anywhere', async () => {
		const { events } = await played();
		for (let n = 0; n <= events.length; n++) {
			const result = readResearch(events.slice(0, n));
			assert.match(researchReport(result), /^# [\s\S]+## Stop reason/);
			if (n < events.length) assert.equal(result.stop, null);
		}
	});
});

describe('untrusted text in Markdown', () => {
	it('remains plain text', () => {
		for (const text of [markdownParagraphs(hostile), markdownLine(hostile)]) {
			assert.doesNotMatch(text, /(?<!\\)[<>[\]`*_]/);
			assert.doesNotMatch(text, /https?:|javascript:/);
			assert.ok(!text.includes('\u001b') && !text.includes('\u202e'));
		}
		assert.equal(
			markdownParagraphs('# a\n## b\n- c\n+ d\n1. e\n2) f\n> g\n---\n===\n\tcode\n| a | b |'),
			[
				'\\# a',
				'\\## b',
				'\\- c',
				'\\+ d',
				'1\\. e',
				'2\\) f',
				'\\> g',
				'\\---',
				'\\===',
				'code',
				'\\| a \\| b \\|',
			].join('\n'),
		);
		assert.equal(markdownParagraphs('3.5 and -4 stay, so does a-b'), '3.5 and -4 stay, so does a-b');
		assert.equal(markdownFence('a ``` b ````'), '`````text\na ``` b ````\n`````');
		assert.equal(markdownLine('a\n# b'), 'a # b');
	});
});
