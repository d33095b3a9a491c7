import { tokenValues } from '../../src/protocol/rolloutsMessages.ts';
import type { FeedbackModel } from './feedbackModel.ts';
import { namesOf } from './identical.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import { tokenViews } from './savedState.ts';
import { type MarkKind, markKinds } from './textMarks.ts';
import { tokenViewNames } from './tokenScale.ts';

/** Announces a change to screen readers. */
type Say = (text: string) => void;

export function nextTokenView(model: RolloutsModel, say: Say): void {
	const rollouts = model.groupContent.state === 'ready' ? model.groupContent.value.rollouts : [];
	const recorded = tokenValues.filter((view) => rollouts.some((one) => one.tokenValues?.includes(view)));
	const views = tokenViews.filter((view) => view === 'off' || recorded.includes(view));
	const next = views[(views.indexOf(model.tokenView) + 1) % views.length] ?? 'off';
	model.setTokenView(next);
	say(views.length === 1 ? 'Tokens were not recorded for these completions' : `Tokens: ${tokenViewNames[next]}`);
}

export function toggleMarks(model: RolloutsModel, say: Say): void {
	const kinds = markKinds.filter((kind): kind is MarkKind => kind.startsWith('behavior-'));
	model.setMarks(new Set(model.marks.size > 0 ? [] : kinds));
	say(model.marks.size > 0 ? 'Behavior highlights on' : 'Behavior highlights off');
}

export function toggleFold(model: RolloutsModel, say: Say): void {
	const fold = model.mode === 'group' ? model.toggleFold() : null;
	if (fold === null) say('No other visible completion is identical to this one');
	else say(`${namesOf(fold.others)} ${model.isExpanded(fold) ? 'shown' : 'folded'}`);
}

export function toggleChosen(model: RolloutsModel, say: Say): void {
	const place = model.place();
	if (!place) return;
	model.toggleChosen(place);
	const { size } = model.chosen;
	say(`Completion ${place.index} ${model.chosen.has(place) ? 'selected' : 'deselected'}, ${size} selected`);
}

/** Rates the selected completion. */
export function rate(
	model: RolloutsModel,
	feedback: FeedbackModel,
	command: 'rate-higher' | 'rate-lower' | 'unrate',
	say: Say,
): void {
	const { index } = model;
	if (index === null || model.mode !== 'group') return;
	if (command === 'unrate') feedback.rate(index, null);
	else feedback.raise(index, command === 'rate-higher' ? 1 : -1);
	const rating = feedback.mine(index);
	say(rating === null ? `Rating for completion ${index} cleared` : `Completion ${index} rated ${rating} of 5`);
}
