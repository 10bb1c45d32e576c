# frozen_string_literal: true

require "concurrent/atomic/event"
require "ferrum"
require "json"

# A headless Chromium, driven by ferrum.
#
#   Browser.open do |browser|
#     page = browser.page(width: 390, height: 844, dark: true)
#     page.visit("http://127.0.0.1:9393/")
#     page.await("document.title == 'billing'")   # checked whenever the page changes; or Failed
#     page.evaluate("2 + 2")                      # => 4; of a promise, its value
#     page.press("button.main")                   # as a mouse would
#     page.violations                             # => what axe-core's accessibility checks find
#     page.picture("page.png")
#   end
class Browser
  PROGRAMS = %w[chromium-headless-shell chromium chromium-browser google-chrome].freeze
  DEBIAN = "/usr/lib/chromium"
  FLAGS = { "no-sandbox" => nil, "disable-gpu" => nil, "disable-dev-shm-usage" => nil,
            "hide-scrollbars" => nil, "force-color-profile" => "srgb" }.freeze
  SECONDS = 60 # on a busy machine
  START_SECONDS = 60
  AXE = "node_modules/axe-core/axe.min.js" # in the gem axe-core-api
  private_constant :PROGRAMS, :DEBIAN, :FLAGS, :SECONDS, :START_SECONDS, :AXE

  class Failed < StandardError
  end

  # Returns the path of the browser, or nil if none is installed. Debian's programs in the PATH are
  # scripts: ferrum would end the script instead of the browser.
  def self.program
    [DEBIAN, *ENV["PATH"].split(":")].product(PROGRAMS).map { |place| place.join("/") }
                                     .find { |path| File.executable?(path) }
  end

  def self.axe
    @axe ||= File.read("#{Gem::Specification.find_by_name("axe-core-api").full_gem_path}/#{AXE}")
  end

  def self.open
    browser = new
    yield browser
  rescue Ferrum::Error => e
    raise Failed, "#{e.class}: #{e.message}"
  ensure
    browser&.close
  end

  def initialize
    path = Browser.program or raise Failed, "apt-get install chromium-headless-shell"
    @ferrum = Ferrum::Browser.new(browser_path: path, browser_options: FLAGS, timeout: SECONDS,
                                  process_timeout: START_SECONDS)
  end

  # Opens a tab. All tabs have the same cookies.
  def page(width: 1280, height: 900, dark: false, scale: 1)
    Page.new(@ferrum.create_page).tap do |page|
      page.resize(width, height, scale)
      page.dark = dark
    end
  end

  def close = @ferrum.quit

  # One tab.
  class Page
    KEYS = { "Tab" => :Tab, "Enter" => :Enter, "Escape" => :Escape }.freeze
    private_constant :KEYS

    # The page's errors: requests that its policy refused, files not found, exceptions.
    attr_reader :errors

    def initialize(tab)
      @tab = tab
      @errors = []
      @loaded = Concurrent::Event.new
      tab.on("Page.loadEventFired") { @loaded.set }
      tab.on("Log.entryAdded") { |facts, *| add_error(facts["entry"]) }
      tab.on("Runtime.exceptionThrown") do |facts, *|
        @errors << facts.dig("exceptionDetails", "exception", "description")
      end
    end

    def resize(width, height, scale)
      @tab.set_viewport(width:, height:, scale_factor: scale, mobile: width < 600)
    end

    # Without transitions: a notice that fades has too little contrast for a moment.
    def dark=(dark)
      features = { "prefers-color-scheme" => dark ? "dark" : "light",
                   "prefers-reduced-motion" => "reduce" }
      @tab.command("Emulation.setEmulatedMedia",
                   features: features.map { |name, value| { name:, value: } })
    end

    # A name such as America/St_Johns, in place of the host's.
    def zone=(name)
      @tab.command("Emulation.setTimezoneOverride", timezoneId: name)
    end

    def visit(url) = leave { @tab.command("Page.navigate", url:)["errorText"] }

    # Waits for the page that the block's action loads. The block may return an error, a String.
    def leave
      @loaded.reset
      error = yield
      raise Failed, error if error.is_a?(String)

      @loaded.wait(SECONDS) or raise Failed, "no page is loaded"
    end

    def evaluate(script)
      answer = @tab.command("Runtime.evaluate", expression: script, awaitPromise: true,
                                                returnByValue: true)
      error = answer["exceptionDetails"]
      raise Failed, "#{script[0, 500]}: #{error.dig("exception", "description")}" if error

      answer.dig("result", "value")
    end

    # Returns the bytes that its scripts hold.
    def heap
      @tab.command("HeapProfiler.collectGarbage")
      @tab.command("Runtime.getHeapUsage")["usedSize"]
    end

    # Waits until the expression is true.
    def await(expression)
      evaluate(<<~SCRIPT)
        new Promise((done) => {
          const observer = new MutationObserver(() => check())
          const check = () => { if (#{expression}) { observer.disconnect(); done(true) } }
          observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
          check()
        })
      SCRIPT
    rescue Failed, Ferrum::TimeoutError => e
      raise Failed, "#{expression}: #{e.message}; on the page: #{visible_text}"
    end

    def press(selector) = @tab.mouse.click(**middle(selector))
    def point(selector) = @tab.mouse.move(**middle(selector))
    def key(name) = @tab.keyboard.type(KEYS.fetch(name))

    def type(selector, text)
      evaluate("document.querySelector(#{selector.to_json}).focus()")
      @tab.command("Input.insertText", text:)
    end

    def picture(path) = @tab.screenshot(path:, format: "png")

    # Returns all addresses that the page has requested.
    def requests = @tab.network.traffic.map(&:url)

    # Runs axe-core on what is visible; returns a sentence for each violation.
    def violations
      evaluate("window.axe ? 0 : (() => { #{Browser.axe}; return 1 })()")
      evaluate(<<~SCRIPT)
        axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
          violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) =>
            `${id}: ${help}; ${target}: ${failureSummary}`)))
      SCRIPT
    end

    private

    def add_error(entry)
      @errors << entry["text"] if entry["level"] == "error"
    end

    def middle(selector)
      x, y = evaluate(<<~SCRIPT)
        (() => {
          const place = document.querySelector(#{selector.to_json})
          place.scrollIntoView({ block: "center", behavior: "instant" })
          const { left, top, width, height } = place.getBoundingClientRect()
          return [left + width / 2, top + height / 2]
        })()
      SCRIPT
      { x:, y: }
    end

    def visible_text = evaluate("document.body.innerText.slice(0, 600)").inspect
  end
end
