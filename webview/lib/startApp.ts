import type { Event } from '../../src/base/event.ts';
import type { Schema } from '../../src/protocol/decode.ts';
import type { RequestTable } from '../../src/protocol/webviewMessages.ts';
import { Bridge } from './bridge.ts';
import { registerControls } from './controls.ts';
import { reportFaults } from './faultReports.ts';

/** Any command from a page to its panel; each model defines the exact union. */
interface Command {
	readonly type: string;
	readonly [field: string]: unknown;
}

/** Delay for saving "soon", in milliseconds. */
const saveDelayMs = 300;

export interface AppMessages<In, State, Requests extends RequestTable> {
	readonly events: Schema<In>;
	readonly requests: Requests;
	readonly state: Schema<State>;
}

export interface AppParts<In, State, Change> {
	readonly model: { receive(event: In): void; readonly onChange: Event<Change> };
	/**
	 * Returns the state to restore after a window reload; null if it is not known yet, which keeps the previously saved
	 * state.
	 */
	readonly saved: () => State | null;
	/**
	 * When to save a change. Default: immediately. "soon" combines several changes, for states that contain long text.
	 */
	readonly saves?: (change: Change) => 'now' | 'soon' | 'never';
}

/** Returns the root element of the app. */
export function appRoot(): HTMLElement {
	const root = document.getElementById('app');
	if (!root) throw new Error('The page has no #app element.');
	return root;
}

/** Connects a page to its panel and registers the controls. Errors in the page's code are sent to the panel's log. */
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
 * Starts a webview app: connects it, creates model and view, saves the state when it changes, and requests the first
 * snapshot from the panel.
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
