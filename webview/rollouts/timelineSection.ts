import { formatCounted } from '../../src/base/format.ts';
import type { RolloutTimeline } from '../../src/protocol/rolloutTimeline.ts';
import { element, fill } from '../lib/dom.ts';
import { TimelineView } from './timelineView.ts';

/** Creates a card's collapsed section with the timeline, which is loaded when it is first expanded. */
export function timelineSection(
	index: number,
	activities: number,
	load: () => Promise<RolloutTimeline>,
): HTMLDetailsElement {
	const holder = element('div');
	const section = element(
		'details',
		{ class: 'card-timeline' },
		element('summary', null, `Timeline (${formatCounted(activities, 'activity', 'activities')})`),
		holder,
	);
	let asked = false;
	section.addEventListener('toggle', () => {
		if (!section.open || asked) return;
		asked = true;
		load().then(
			(timeline) => fill(holder, new TimelineView(`Timeline of completion ${index}`, timeline).element),
			(error: unknown) => {
				// Expanding the section again repeats the request.
				asked = false;
				fill(holder, element('p', { class: 'quiet', role: 'alert' }, String(error)));
			},
		);
	});
	return section;
}
