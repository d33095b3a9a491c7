import './dashboard.css';
import {
	type DashboardCommand,
	type DashboardEvent,
	dashboardEventSchema,
	dashboardRequests,
} from '../../src/protocol/dashboardMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { DashboardApp } from './dashboardApp.ts';
import { type SavedState, savedStateSchema } from './viewState.ts';

registerControls();
const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<DashboardEvent, DashboardCommand, SavedState, typeof dashboardRequests>({
	events: dashboardEventSchema,
	requests: dashboardRequests,
	state: savedStateSchema,
	onFault: report,
});

const root = document.getElementById('app');
if (root) new DashboardApp(root, bridge);
