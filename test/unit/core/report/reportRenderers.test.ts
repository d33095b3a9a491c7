import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chartScale } from '../../../../src/core/report/chartScale.ts';
import { chartSvg } from '../../../../src/core/report/chartSvg.ts';
import { markdownFence, markdownText } from '../../../../src/core/report/markdownText.ts';
import type { ReportChart, ReportDocument } from '../../../../src/core/report/reportDocument.ts';
import { cutText } from '../../../../src/core/report/reportDocument.ts';
import { reportHtml } from '../../../../src/core/report/reportHtml.ts';
import { reportMarkdown } from '../../../../src/core/report/reportMarkdown.ts';
import { thinCurve } from '../../../../src/core/report/thinCurve.ts';
import { visibleText } from '../../../../src/core/report/visibleText.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';

const points = [
	{ x: 0, y: 0 },
	{ x: 10, y: 1, low: 0.5, high: 1 },
];
const rewardChart: ReportChart = { title: 'Reward', x: 'step', series: [{ name: '', points }] };
const small: ReportDocument = {
	title: 'A & B',
	subtitle: 'Small.',
	sections: [
		{
			title: 'One',
			blocks: [
				{ kind: 'facts', caption: 'Facts', rows: [['name', '<b>']] },
				{
					kind: 'table',
					caption: 'Table',
					columns: [{ title: 'k' }, { title: 'n', numbers: true }],
					rows: [['a|b', '-0.5']],
					note: 'A note.',
				},
				{
					kind: 'charts',
					charts: [rewardChart],
				},
				{ kind: 'list', items: ['1. not a list'] },
				{ kind: 'text', title: 'Text', text: '```\n<i>', note: 'Cut.', folded: true },
			],
			sections: [{ title: 'Inner', blocks: [{ kind: 'paragraph', text: '# no heading' }] }],
		},
	],
};

describe('Markdown report', () => {
	it('matches the expected text', () => {
		assert.equal(
			reportMarkdown(small),
			`# A &amp; B

Small.

## One

| Facts |  |
|---|---|
| name | &lt;b&gt; |

Table

| k | n |
|---|---:|
| a\\|b | -0.5 |

A note.

Reward: 0 at step 0, 1 at step 10, between 0 and 1.

| step | Reward |
|---:|---:|
| 0 | 0 |
| 10 | 1.000 (0.500 to 1.000) |

- 1\\. not a list

**Text**

\`\`\`\`text
\`\`\`
<i>
\`\`\`\`

Cut.

### Inner

\\# no heading
`,
		);
	});

	it('keeps every hostile string as text: one line, no active markup, a fence it cannot close', () => {
		for (const [name, text] of Object.entries(hostileTexts)) {
			const line = markdownText(text);
			assert.doesNotMatch(line, /[\n\r<>]/, name);
			// Every character that could start markup is preceded by its own backslash.
			const bare = line.replace(/\\[!-/:-@[-`{-~]|&(?:#\d+|amp|lt|gt);/g, '');
			assert.doesNotMatch(bare, /[\\`*_[\]|~#$!{}]|:\/\/|(?<!\w)@/, name);
			const fenced = markdownFence(text).split(/\r\n|\r|\n/);
			const fence = fenced[0]?.replace('text', '') as string;
			assert.match(fence, /^`{3,}$/);
			assert.equal(fenced.at(-1), fence, name);
			const inside = fenced.slice(1, -1);
			assert.ok(
				inside.every((one) => !new RegExp(`^ {0,3}\`{${fence.length},}\\s*$`).test(one)),
				name,
			);
		}
	});
});

describe('HTML report', () => {
	const html = reportHtml(small);

	it('contains its policy and styles, and no script', () => {
		assert.match(
			html,
			/<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:;/,
		);
		assert.doesNotMatch(html, /<script|javascript:|\son\w+=|<link|<img|<iframe|<form/i);
		assert.match(html, /<title>A &amp; B<\/title>/);
	});

	it('labels its parts', () => {
		assert.match(html, /<th scope="row"><bdi>name<\/bdi><\/th><td><bdi>&lt;b&gt;<\/bdi><\/td>/);
		assert.match(html, /<th scope="col" class="n k"><bdi>n<\/bdi><\/th>/);
		assert.match(html, /<td class="n k"><bdi>-0\.5<\/bdi><\/td>/);
		assert.match(
			html,
			/<details><summary><bdi>Text<\/bdi><\/summary><pre dir="auto" tabindex="0">&#96;&#96;&#96;\n&lt;i&gt;/,
		);
		assert.match(html, /<section id="s2" aria-labelledby="s2-h">\n<h3 id="s2-h"><bdi>Inner/);
		assert.match(html, /<a href="#s1"><bdi>One<\/bdi><\/a>/);
	});

	it('renders a chart as the expected SVG', () => {
		const svg = chartSvg(rewardChart, 'c1');
		assert.match(svg, /role="img" aria-labelledby="c1-t c1-d"><title id="c1-t">Reward<\/title>/);
		assert.match(svg, /<desc id="c1-d">0 at step 0, 1 at step 10, between 0 and 1\.<\/desc>/);
		assert.match(svg, /<polyline class="line s0" points="56,184 408,10"\/>/);
		assert.match(svg, /<polygon class="band s0" points="56,184 408,10 408,97 56,184"\/>/);
		assert.equal((svg.match(/<circle/g) ?? []).length, 2);
	});

	it('renders a chart without numbers as an empty frame', () => {
		const points = [
			{ x: 1, y: Number.NaN },
			{ x: Number.POSITIVE_INFINITY, y: 1 },
		];
		const svg = chartSvg({ title: 'Nothing', x: 'step', series: [{ name: '', points }] }, 'c');
		assert.doesNotMatch(svg, /polyline|NaN|Infinity/);
		assert.match(svg, /<desc id="c-d">no values\.<\/desc>/);
	});
});

describe('report components', () => {
	it('axes have round ticks around the values', () => {
		assert.deepEqual(chartScale(0, 1).ticks, [0, 0.2, 0.4, 0.6, 0.8, 1]);
		assert.deepEqual(chartScale(0.13, 0.17).ticks, [0.13, 0.14, 0.15, 0.16, 0.17]);
		assert.deepEqual(chartScale(-3, 98_000).ticks, [-20_000, 0, 20_000, 40_000, 60_000, 80_000, 100_000]);
		for (const [low, high] of [
			[0, 0],
			[5, 5],
			[-1e-9, 1e-9],
			[1e12, 1e12 + 1],
		] as const) {
			const scale = chartScale(low, high);
			assert.ok(scale.low <= low && scale.high >= high && scale.low < scale.high, `${low} to ${high}`);
			assert.ok(scale.ticks.length <= 10);
		}
	});

	it('a long curve is thinned by averaging neighbors, and still spans the first step to the last', () => {
		const x = Array.from({ length: 1001 }, (_, i) => i);
		const y = x.map((value) => (value === 500 ? Number.NaN : value));
		const points = thinCurve(x, y, 100);
		assert.ok(points.length <= 100);
		assert.deepEqual([points[0]?.x, points.at(-1)?.x], [0, 1000]);
		const sum = points.reduce((total, point) => total + point.y, 0) / points.length;
		assert.ok(Math.abs(sum - 500) < 5);
		assert.deepEqual(thinCurve([1, 2], [3, 4], 100), [
			{ x: 1, y: 3 },
			{ x: 2, y: 4 },
		]);
	});

	it('text is truncated with a note, and never within a character', () => {
		assert.deepEqual(cutText('T', 'short', 10), { kind: 'text', title: 'T', text: 'short' });
		const cut = cutText('T', `abc${'😀'.repeat(5)}`, 6);
		assert.equal(cut.text, 'abc😀');
		assert.equal(cut.note, 'First 5 of 13 characters.');
	});

	it('invisible characters are shown', () => {
		assert.equal(
			visibleText('a\u001b[31m\r\nb\rc\u202ed\ud800x\u{e0041}\u2028'),
			'a␛[31m\nb␍c[U+202E]d\ufffdx[U+E0041][U+2028]',
		);
	});
});
