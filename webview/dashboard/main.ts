import './dashboard.css';
import { dashboardEventSchema, dashboardRequests } from '../../src/protocol/dashboardMessages.ts';
import { appRoot, connect } from '../lib/startApp.ts';
import { DashboardApp } from './dashboardApp.ts';
import { savedStateSchema } from './viewState.ts';

new DashboardApp(
	appRoot(),
	connect({ events: dashboardEventSchema, requests: dashboardRequests, state: savedStateSchema }),
);
