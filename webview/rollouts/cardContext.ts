import type { TurnsContent } from '../../src/protocol/explorerMessages.ts';
import type { RolloutPicture } from '../../src/protocol/rolloutPicture.ts';
import type { PictureContent, Place, TokenColumns } from '../../src/protocol/rolloutsMessages.ts';
import type { RolloutTimeline } from '../../src/protocol/rolloutTimeline.ts';
import type { CompletionTags, CompletionTrace } from '../lib/trace/completionTrace.ts';
import type { FoldMark } from './identical.ts';
import type { RatingContext } from './ratingControl.ts';
import { addsUp } from './rewardParts.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { TokenView } from './savedState.ts';
import type { MarkKind, TextFindings } from './textMarks.ts';

/** A picture, whose contents are loaded once for all cards. */
export interface GroupPicture extends RolloutPicture {
	load(): Promise<PictureContent>;
}

export type CopiedPart = 'completion' | 'prompt' | 'json';

/** Interface through which a card accesses the panel; indices refer to the card's group. */
export interface CardContext {
	readonly tags: CompletionTags;
	readonly weights: ReadonlyMap<string, number>;
	/** Whether rewards are weighted sums of their components, which is not always true for other trainers. */
	readonly sums: boolean;
	/** Maximum absolute advantage in the group. */
	readonly largestAdvantage: number;
	readonly search: string;
	readonly tokenView: TokenView;
	/** Returns the first and last tokens that a link refers to, or null if it refers to none in this completion. */
	cited(index: number): readonly [number, number] | null;
	loadCompletion(index: number): Promise<string>;
	loadTokens(index: number): Promise<TokenColumns>;
	loadTurns(index: number): Promise<TurnsContent>;
	loadTimeline(index: number): Promise<RolloutTimeline>;
	/** The picture of the group's prompt; null if there is none. */
	readonly picture: GroupPicture | null;
	copy(index: number, part: 'completion' | 'json'): void;
	openText(index: number): void;
	openTranscript(index: number): void;
	openEpisode(index: number): void;
	select(index: number): void;
	isChosen(index: number): boolean;
	toggleChosen(index: number): void;
	/** Returns the fold of identical completions; null if there are none or the view does not support folding. */
	fold(index: number): FoldMark | null;
	toggleFold(index: number): void;
	/** Human ratings; null if the view does not support them. */
	readonly ratings: RatingContext | null;
	label(index: number): void;
	continueFrom(index: number): void;
	/** Shows highlights of the given kind. */
	showMarks(kind: MarkKind): void;
	/** Called after a completion has been parsed, and again after it has been analyzed, to update the legend. */
	traced(index: number, trace: CompletionTrace): void;
	found(index: number, findings: TextFindings): void;
}

/** Context shared by all cards in a group: the run's tags and weights, and button actions. */
export interface CardGroup extends Pick<Place, 'split' | 'step' | 'group'> {
	readonly largestAdvantage: number;
	readonly search: string;
	readonly tokenView: TokenView;
	/** Human ratings, only for the open group. */
	readonly ratings?: RatingContext;
	/** Returns the fold of a completion, only for the open group. */
	fold?(index: number): FoldMark | null;
	toggleFold?(index: number): void;
	/** Called when a completion in the group is hovered or focused. */
	select(index: number): void;
	traced?(index: number, trace: CompletionTrace): void;
	found?(index: number, findings: TextFindings): void;
}

const samePlace = (a: Place, b: Place) =>
	a.split === b.split && a.step === b.step && a.group === b.group && a.index === b.index;

export function tagsOf({ run }: RolloutsModel): CompletionTags {
	// Some trainers record special tokens in the text, whereas our engines record the text as scored.
	return { think: run?.think ?? null, answer: run?.answer ?? null, special: Boolean(run?.trainer) };
}

/** Copies part of a rollout to the clipboard and announces it. */
export function copyPart(model: RolloutsModel, place: Place, part: CopiedPart, say: (text: string) => void): void {
	const { index } = place;
	const named = { completion: `Completion ${index}`, prompt: 'Prompt', json: `Completion ${index} as JSON` }[part];
	model.ask('copy', { ...place, part }).then(
		() => say(`${named} copied.`),
		(error: unknown) => say(String(error)),
	);
}

export function cardContext(model: RolloutsModel, group: CardGroup, say: (text: string) => void): CardContext {
	const { split, step, largestAdvantage, search, tokenView } = group;
	const weights = new Map(model.run?.weights ?? []);
	const shown = model.groupContent.state === 'ready' ? model.groupContent.value.rollouts : [];
	const at = (index: number): Place => ({ split, step, group: group.group, index });
	return {
		tags: tagsOf(model),
		weights,
		sums: shown.every((rollout) => addsUp(rollout, weights)),
		largestAdvantage,
		search,
		tokenView,
		cited: (index) => (model.cited !== null && samePlace(model.cited.place, at(index)) ? model.cited.tokens : null),
		loadCompletion: async (index) => (await model.ask('loadCompletion', at(index))).completion,
		loadTokens: (index) => model.ask('loadTokens', at(index)),
		loadTurns: (index) => model.ask('loadTurns', at(index)),
		loadTimeline: async (index) => (await model.ask('loadTimeline', at(index))).activities,
		picture: groupPicture(model, group),
		copy: (index, part) => copyPart(model, at(index), part, say),
		openText: (index) => void model.ask('openText', at(index)).catch((error: unknown) => say(String(error))),
		openTranscript: (index) =>
			void model.ask('openTranscript', at(index)).catch((error: unknown) => say(String(error))),
		openEpisode: (index) => void model.ask('openEpisode', at(index)).catch((error: unknown) => say(String(error))),
		select: (index) => group.select(index),
		isChosen: (index) => model.chosen.has(at(index)),
		toggleChosen: (index) => model.toggleChosen(at(index)),
		fold: (index) => group.fold?.(index) ?? null,
		toggleFold: (index) => group.toggleFold?.(index),
		ratings: group.ratings ?? null,
		label: (index) => model.openOne('label', at(index)),
		continueFrom: (index) => model.openOne('continue', at(index)),
		showMarks: (kind) => model.setMarks(new Set([...model.marks, kind])),
		traced: (index, trace) => group.traced?.(index, trace),
		found: (index, findings) => group.found?.(index, findings),
	};
}

/** Returns a group's picture, if the group is the open one. */
function groupPicture(model: RolloutsModel, { step, group }: CardGroup): GroupPicture | null {
	const { groupContent } = model;
	if (groupContent.state !== 'ready') return null;
	const { picture, ...open } = groupContent.value;
	if (picture === undefined || open.step !== step || open.group !== group) return null;
	let content: Promise<PictureContent> | null = null;
	return {
		...picture,
		load: () => {
			content ??= model.ask('loadPicture', { file: picture.file });
			return content;
		},
	};
}
