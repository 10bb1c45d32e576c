# frozen_string_literal: true

require_relative "../scenario"
require_relative "../support/browser"

# The base of the web page's scenarios: `skep web` for a real swarm, and a browser for the page.
#
#   WebScenario.play do
#     swarm = run_swarm(IDLE)
#     url = serve(swarm, "--user", "ada", "--password-file", password)
#     browse { |browser| browser.page.visit(url) }
#   end
module ServedPage
  # For the class of a scenario.
  module Play
    def play
      super
    rescue Browser::Failed => e
      warn "FAILED #{File.basename($PROGRAM_NAME, ".rb")}: #{e.message}"
      exit 1
    end
  end

  # Starts `skep web`; returns the page's address.
  def serve(swarm, *arguments)
    out, writer = IO.pipe
    errors = "#{directory}/web.log"
    @web = Skep.pidfd(Process.spawn({ "SKEP_RUN_DIR" => swarm.directory }, RbConfig.ruby,
                                    Scenario::RunningSwarm::SKEP, "web", "--port", "0", *arguments,
                                    out: writer, err: errors, pgroup: true))
    writer.close
    web = @web
    at_end { end_web(web, out) }
    out.wait_readable(Scenario::SECONDS)
    out.gets.to_s[%r{http://\S+/}] or
      raise Scenario::Failed, "skep web isn't there: #{File.read(errors)}"
  end

  def web_pid = @web.pid
  def web_log = File.read("#{directory}/web.log").scrub

  def password
    "#{directory}/password".tap { |path| File.write(path, "open sesame\n", perm: 0o600) }
  end

  def browse(&block)
    missing "a browser: apt-get install chromium-headless-shell" unless Browser.program
    Browser.open(&block)
  end

  def log_in(page, url)
    page.visit(url)
    page.type("[name=user]", "ada")
    page.type("[name=password]", "open sesame")
    page.leave { page.press("button.main") }
  end

  # Stops it with TERM; fails if it doesn't end.
  def stop_web
    @web.signal(:TERM)
    status = @web.wait(timeout: Scenario::SECONDS) or raise Scenario::Failed, "skep web doesn't end"
    must("end with 0, not #{status}") { status.success? }
  end

  # Fails with all that axe-core finds, in both themes.
  def check_themes(page, state)
    { "light" => false, "dark" => true }.each do |name, dark|
      page.dark = dark
      found = page.violations
      must("have no accessibility violation #{state}, #{name}:\n#{found.join("\n")}") do
        found.empty?
      end
    end
  end

  private

  def end_web(web, out)
    Scenario.kill(web)
    [web, out].each(&:close)
  end
end

class WebScenario < Scenario
  include ServedPage
  extend ServedPage::Play
end
