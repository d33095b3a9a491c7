import type { Event } from '../../src/base/event.ts';
import type { Schema } from '../../src/protocol/decode.ts';
import type { RequestTable } from '../../src/protocol/webviewMessages.ts';
import { Bridge } from './bridge.ts';
import { registerControls } from './controls.ts';
import { reportFaults } from './faultReports.ts';

/** Any command of a page to its panel; each model has the exact union. */
interface Command {
	readonly type: string;
	readonly [field: string]: unknown;
}

/** How long "soon" is. */
const saveDelayMs = 300;

export interface AppMessages<In, State, Requests extends RequestTable> {
	readonly events: Schema<In>;
	readonly requests: Requests;
	readonly state: Schema<State>;
}

export interface AppParts<In, State, Change> {
	readonly model: { receive(event: In): void; readonly onChange: Event<Change> };
	/** The state that survives a reload of the window; null: not known yet, what was saved before stays. */
	readonly saved: () => State | null;
	/** When a change is saved; default at once. "soon" joins changes, for states that hold long texts. */
	readonly saves?: (change: Change) => 'now' | 'soon' | 'never';
}

/** The element that an app draws into. */
export function appRoot(): HTMLElement {
	const root = document.getElementById('app');
	if (!root) throw new Error('The page has no #app element.');
	return root;
}

/** Connects a page to its panel and registers the controls; faults in the page's code go to the panel's log. */
export function connect<In, State, Requests extends RequestTable>({
	events,
	requests,
	state,
}: AppMessages<In, State, Requests>): Bridge<In, Command, State, Requests> {
	registerControls();
	const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
	const bridge = new Bridge<In, Command, State, Requests>({ events, requests, state, onFault: report });
	return bridge;
}

/**
 * Starts a webview app: connects it, builds model and view, saves the state as it changes, and asks the panel for the
 * first snapshot.
 */
export function startApp<In, State, Requests extends RequestTable, Change>(
	messages: AppMessages<In, State, Requests>,
	build: (bridge: Bridge<In, Command, State, Requests>, root: HTMLElement) => AppParts<In, State, Change>,
): void {
	const bridge = connect(messages);
	const { model, saved, saves = () => 'now' } = build(bridge, appRoot());
	let timer: ReturnType<typeof setTimeout> | undefined;
	const save = (): void => {
		clearTimeout(timer);
		timer = undefined;
		const state = saved();
		if (state !== null) bridge.saveState(state);
	};
	save();
	model.onChange((change) => {
		const when = saves(change);
		if (when === 'now') save();
		if (when === 'soon') timer ??= setTimeout(save, saveDelayMs);
	});
	document.addEventListener('visibilitychange', () => timer !== undefined && save());
	bridge.onEvent((event) => model.receive(event));
	bridge.post({ type: 'ready' });
}
