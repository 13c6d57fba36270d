import type { Dashboard } from '../dashboard.ts';
import { AccessGate } from './access.tsx';
import { DashboardContext, useDashboard } from './context.ts';
import { Curves } from './curves.tsx';
import { Feed } from './feed.tsx';
import { JobsSection } from './jobs/section.tsx';
import { QuestionDialog } from './parts/dialog.tsx';
import { NoticeList } from './parts/notices.tsx';
import { StatechartsSection } from './statecharts/section.tsx';
import { Stats } from './stats.tsx';
import { TopBar } from './top-bar.tsx';
import { Workers } from './workers.tsx';

export function App({ dashboard, serviceName }: { dashboard: Dashboard; serviceName: string }) {
  return (
    <DashboardContext.Provider value={dashboard}>
      <TopBar serviceName={serviceName} />
      <main>
        <h1 class="off-screen">{serviceName}</h1>
        <Outdated />
        {dashboard.readable.value ? <View /> : <AccessGate />}
      </main>
      <QuestionDialog />
      <NoticeList />
    </DashboardContext.Provider>
  );
}

function View() {
  const { address } = useDashboard();
  if (address.place.value.view !== 'statecharts') return <Overview />;
  return (
    <div class="overview">
      <StatechartsSection />
    </div>
  );
}

function Overview() {
  return (
    <div class="overview">
      <div class="summary">
        <Stats />
        <Curves />
      </div>
      <div class="columns">
        <div class="column">
          <JobsSection />
          <Workers />
        </div>
        <Feed />
      </div>
    </div>
  );
}

function Outdated() {
  const { outdated } = useDashboard();
  if (!outdated.value) return null;
  return (
    <p class="banner" role="status">
      The server has another version now than when this page was loaded.{' '}
      <button type="button" onClick={() => location.reload()}>
        Load it again
      </button>
    </p>
  );
}
