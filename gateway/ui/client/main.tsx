import { render } from 'preact';
import { Dashboard } from './dashboard.ts';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/layout.css';
import './style/parts.css';
import './style/jobs.css';
import './style/feed.css';
import './style/statecharts.css';
import { App } from './view/app.tsx';

const place = document.getElementById('app') as HTMLElement;
const serviceName = document.title;
const dashboard = new Dashboard();
dashboard.start();
place.replaceChildren();
render(<App dashboard={dashboard} serviceName={serviceName} />, place);
