import type { TraceTags } from '../../trace/trace.ts';
import { idleThought, wellFormed } from './completionText.ts';
import { attempts, type Probe, type ProbeContext, type ProbeRow, type ProbeSkip, skip } from './probe.ts';

interface Parts {
	readonly think: readonly [open: string, close: string];
	readonly answer: readonly [open: string, close: string];
	readonly thought: string;
	readonly right: string;
}

/** Creates a probe for templates with both pairs of tags. */
function tagProbe(
	probe: Omit<Probe, 'attacks' | 'build'>,
	write: (parts: Parts, row: ProbeRow) => readonly string[],
): Probe {
	return {
		...probe,
		attacks: 'form',
		build(row, { tags }) {
			if (!tags.think || !tags.answer) return skip('The template has no separate tags for thinking and answer.');
			const { think, answer } = tags;
			return attempts(...write({ think, answer, thought: idleThought(row), right: row.answer }, row));
		},
	};
}

/** Creates a probe that changes the honest format, for templates with any tags. */
function formProbe(
	probe: Omit<Probe, 'attacks' | 'build'>,
	write: (whole: string, tags: TraceTags) => readonly string[],
): Probe {
	return {
		...probe,
		attacks: 'form',
		build(row: ProbeRow, { tags }: ProbeContext): ReturnType<Probe['build']> | ProbeSkip {
			if (!tags.think && !tags.answer) return skip('The template has no tags.');
			const whole = wellFormed(tags, idleThought(row), row.answer);
			// Some tags are not affected by the change, so drop completions that remain the same.
			return attempts(...write(whole, tags).filter((text) => text !== whole));
		},
	};
}

const order = 'Check the entire completion against the template: each tag once, in order, with nothing around them.';
const once = 'Require each tag to occur exactly once.';

const lookalikes: Readonly<Record<string, string>> = { a: 'а', e: 'е', i: 'і', o: 'о', s: 'ѕ', h: 'һ' };

/** Applies a change to every tag in the text. */
function changeTags(text: string, { think, answer }: TraceTags, change: (tag: string) => string): string {
	let changed = text;
	for (const tag of [...(think ?? []), ...(answer ?? [])]) changed = changed.replaceAll(tag, () => change(tag));
	return changed;
}

/** Completions that have the correct answer but bad format. */
export const tagProbes: readonly Probe[] = [
	tagProbe(
		{
			id: 'no-thinking',
			title: 'Answer without thinking',
			severity: 'medium',
			why: 'The template requires thinking, but there is no thinking section.',
			fix: 'Require the think tags before the answer.',
		},
		({ answer, right }) => [`${answer[0]}${right}${answer[1]}`],
	),
	tagProbe(
		{
			id: 'answer-outside-tags',
			title: 'Answer outside its tags',
			severity: 'medium',
			why: 'The answer section is missing.',
			fix: 'Require both answer tags after the thinking.',
		},
		({ think, thought, right }) => [
			`${think[0]}${thought}${think[1]}${right}`,
			`${think[0]}${thought}${think[1]}\n${right}`,
		],
	),
	tagProbe(
		{
			id: 'unclosed-answer',
			title: 'Unclosed answer',
			severity: 'medium',
			why: 'The answer section is not closed, as in a truncated completion.',
			fix: 'Require the closing answer tag.',
		},
		({ think, answer, thought, right }) => [`${think[0]}${thought}${think[1]}${answer[0]}${right}`],
	),
	tagProbe(
		{
			id: 'unclosed-thinking',
			title: 'Unclosed thinking',
			severity: 'medium',
			why: 'The thinking section is never closed, so the answer is part of it.',
			fix: 'Require the closing think tag before the answer.',
		},
		({ think, answer, thought, right }) => [`${think[0]}${thought}${answer[0]}${right}${answer[1]}`],
	),
	tagProbe(
		{
			id: 'unopened-thinking',
			title: 'Thinking without an opening tag',
			severity: 'low',
			why: 'The opening tag is missing.',
			fix: `${order} If the prompt opens the thinking section, declare this in the template tags.`,
		},
		({ think, answer, thought, right }) => [`${thought}${think[1]}${answer[0]}${right}${answer[1]}`],
	),
	tagProbe(
		{
			id: 'reordered',
			title: 'Answer before the thinking',
			severity: 'medium',
			why: 'The thinking comes after the answer, so the answer cannot be based on it.',
			fix: order,
		},
		({ think, answer, thought, right }) => [`${answer[0]}${right}${answer[1]}${think[0]}${thought}${think[1]}`],
	),
	tagProbe(
		{
			id: 'scrambled',
			title: 'Closing tags before opening tags',
			severity: 'medium',
			why: 'Every tag occurs, but none encloses anything.',
			fix: order,
		},
		({ think, answer, thought, right }) => [
			`${think[1]}${thought}${think[0]}${answer[1]}${right}${answer[0]}`,
			`${think[0]}${answer[0]}${think[1]}${answer[1]}${right}`,
		],
	),
	tagProbe(
		{
			id: 'crossed',
			title: 'Overlapping sections',
			severity: 'medium',
			why: 'The answer starts inside the thinking section and ends outside it.',
			fix: order,
		},
		({ think, answer, thought, right }) => [`${think[0]}${thought}${answer[0]}${think[1]}${right}${answer[1]}`],
	),
	tagProbe(
		{
			id: 'answer-in-thinking',
			title: 'Answer section inside the thinking section',
			severity: 'medium',
			why: 'There is nothing after the thinking section.',
			fix: order,
		},
		({ think, answer, thought, right }) => [`${think[0]}${thought}${answer[0]}${right}${answer[1]}${think[1]}`],
	),
	tagProbe(
		{
			id: 'thinking-in-answer',
			title: 'Thinking inside the answer section',
			severity: 'medium',
			why: 'The thinking section is part of the answer.',
			fix: order,
		},
		({ think, answer, thought, right }) => [`${answer[0]}${think[0]}${thought}${think[1]}${right}${answer[1]}`],
	),
	tagProbe(
		{
			id: 'repeated-thinking',
			title: 'Repeated thinking sections',
			severity: 'low',
			why: 'The template has only one thinking section.',
			fix: once,
		},
		({ think, answer, thought, right }) => [
			`${`${think[0]}${thought}${think[1]}`.repeat(3)}${answer[0]}${right}${answer[1]}`,
			`${think[0]}${think[0]}${thought}${think[1]}${think[1]}${answer[0]}${right}${answer[1]}`,
		],
	),
	tagProbe(
		{
			id: 'repeated-answer',
			title: 'Repeated answer section',
			severity: 'medium',
			why: 'The template has only one answer section.',
			fix: once,
		},
		({ think, answer, thought, right }) => [
			`${think[0]}${thought}${think[1]}${`${answer[0]}${right}${answer[1]}`.repeat(3)}`,
		],
	),
	tagProbe(
		{
			id: 'tags-in-thinking',
			title: 'Template quoted in the thinking section',
			severity: 'low',
			why: 'Tags that are merely mentioned break tag counts and searches for the first tag.',
			fix: once,
		},
		({ think, answer, thought, right }) => [
			`${think[0]}${thought} I write ${think[0]}${think[1]}${answer[0]}${answer[1]}.${think[1]}${answer[0]}${right}${answer[1]}`,
		],
	),
	{
		id: 'text-before',
		title: 'Text before the first tag',
		severity: 'low',
		attacks: 'form',
		why: 'The template has no text before its first tag.',
		fix: 'Anchor the pattern at the start of the completion.',
		build(row, { tags }) {
			if (!tags.think) return skip('The template has no think tags, so any text at the beginning is thinking.');
			return attempts(`Sure, here it comes.\n${wellFormed(tags, idleThought(row), row.answer)}`);
		},
	},
	{
		id: 'text-after',
		title: 'Text after the last tag',
		severity: 'low',
		attacks: 'form',
		why: 'The template has no text after its last tag, so the policy would not learn to stop.',
		fix: 'Anchor the pattern at the end of the completion.',
		build(row, { tags }) {
			if (!tags.answer) return skip('The template has no answer tags, so any text at the end is part of the answer.');
			return attempts(`${wellFormed(tags, idleThought(row), row.answer)}\nI hope this helps. Next question:`);
		},
	},
	formProbe(
		{
			id: 'homoglyph-tags',
			title: 'Tags with look-alike letters',
			severity: 'low',
			why: 'These are different characters, so a parser that splits on the template tags finds none.',
			fix: 'Compare tags character by character, without normalizing look-alike letters.',
		},
		(whole, tags) => [
			changeTags(whole, tags, (tag) => tag.replace(/[aeiosh]/g, (letter) => lookalikes[letter] ?? letter)),
			changeTags(whole, tags, (tag) => `${tag.slice(0, -1)}\u200b${tag.slice(-1)}`),
		],
	),
	formProbe(
		{
			id: 'other-case-tags',
			title: 'Tags in uppercase or with spaces',
			severity: 'low',
			why: 'These tags are not in the template, so a parser that splits on the template tags finds none.',
			fix: 'Match tags exactly, including case and spaces.',
		},
		(whole, tags) => {
			const upper = changeTags(whole, tags, (tag) => tag.toUpperCase());
			const spaced = changeTags(whole, tags, (tag) => `${tag.slice(0, 1)} ${tag.slice(1)}`);
			return [upper, spaced];
		},
	),
	formProbe(
		{
			id: 'fenced',
			title: 'Completion wrapped in a code fence',
			severity: 'low',
			why: 'There is text before the first tag and after the last one.',
			fix: 'Anchor the pattern at both ends of the completion.',
		},
		(whole) => [`\`\`\`xml\n${whole}\n\`\`\``],
	),
	{
		id: 'tags-in-prompt',
		title: 'Tags only in the prompt',
		severity: 'high',
		attacks: 'form',
		why: 'The policy did not write the prompt. If the prompt explains the format, every completion earns the reward.',
		fix: 'Score only the completion, never the prompt and completion together.',
		build(row, { tags }) {
			if (!tags.think && !tags.answer) return skip('The template has no tags.');
			const prompt = `${row.prompt}\n${wellFormed(tags, 'reasoning process here', row.answer)}`;
			return [
				{ prompt, completion: row.answer },
				{ prompt, completion: '' },
			];
		},
	},
	{
		id: 'truncated',
		title: 'Truncated completion',
		severity: 'low',
		attacks: 'form',
		seesTruncation: true,
		why: 'The completion hit the length limit right after its last tag, so it never finished.',
		fix: 'Give truncated completions no reward (TypeScript: `truncated`), or mask them in the recipe (mask_truncated_completions).',
		build(row, { tags }) {
			if (!tags.think && !tags.answer) return skip('The template has no tags.');
			return [{ completion: wellFormed(tags, idleThought(row), row.answer), truncated: true }];
		},
	},
];
