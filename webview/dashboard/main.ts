import './dashboard.css';
import {
	type DashboardCommand,
	type DashboardEvent,
	dashboardEventSchema,
	dashboardRequests,
} from '../../src/protocol/dashboardMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { DashboardApp } from './dashboardApp.ts';
import { type SavedState, savedStateSchema } from './viewState.ts';

registerControls();
const bridge = new Bridge<DashboardEvent, DashboardCommand, SavedState, typeof dashboardRequests>({
	events: dashboardEventSchema,
	requests: dashboardRequests,
	state: savedStateSchema,
	onFault: (message) => report(message),
});

function report(message: string): void {
	bridge.post({ type: 'fault', message: message.slice(0, 20_000) });
}
window.addEventListener('error', (event) => {
	// Not an error: a chart that was resized resized others, which are told in the next frame.
	if (event.message.startsWith('ResizeObserver loop')) return;
	report(`${event.message} ${event.error?.stack ?? ''}`);
});
window.addEventListener('unhandledrejection', (event) => report(String(event.reason?.stack ?? event.reason)));

const root = document.getElementById('app');
if (root) new DashboardApp(root, bridge);
