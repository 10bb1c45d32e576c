# frozen_string_literal: true

require "io/nonblock"
require "json"
require "skep/os"

# A headless Chromium, told what to do over a pipe: the DevTools protocol, each message ends with
# a zero.
#
#   Browser.open do |browser|
#     page = browser.page(width: 390, height: 844, dark: true)
#     page.visit("http://127.0.0.1:9393/")
#     page.await("document.title == 'billing'")   # looks whenever something changes; or fails
#     page.evaluate("2 + 2")                      # => 4, of promises what they come to
#     page.press("button.main")                   # as a mouse would
#     page.picture("page.png")
#   end
class Browser
  PROGRAMS = %w[chromium-headless-shell chromium chromium-browser google-chrome].freeze
  FLAGS = %w[--headless --no-sandbox --remote-debugging-pipe --disable-gpu --hide-scrollbars
             --no-first-run --disable-background-networking --disable-dev-shm-usage
             --force-color-profile=srgb].freeze
  SECONDS = 20.0

  class Failed < StandardError
  end

  # Where it is; nil: not installed.
  def self.program
    ENV["PATH"].split(":").product(PROGRAMS).map { |place| place.join("/") }
               .find { |path| File.executable?(path) }
  end

  def self.open(directory)
    browser = new(directory)
    yield browser
  ensure
    browser&.close
  end

  attr_reader :events

  def initialize(directory)
    program = Browser.program or raise Failed, "apt-get install chromium-headless-shell"
    theirs, @out = IO.pipe
    @in, answers = IO.pipe
    [theirs, answers].each { |io| io.nonblock = false } # Ruby's pipes don't block, Chromium's do
    pid = Process.spawn(program, *FLAGS, "--user-data-dir=#{directory}/browser", pgroup: true,
                        3 => theirs, 4 => answers, %i[out err] => "#{directory}/browser.log")
    [theirs, answers].each(&:close)
    @pidfd = Skep.pidfd(pid)
    @buffer = String.new(encoding: Encoding::BINARY)
    @number = 0
    @events = []
  end

  def page(width: 1280, height: 900, dark: false, scale: 1)
    target = call("Target.createTarget", url: "about:blank").fetch("targetId")
    session = call("Target.attachToTarget", targetId: target, flatten: true).fetch("sessionId")
    Page.new(self, session).tap { |page| page.set_up(width, height, dark, scale) }
  end

  # What a command answers; what happens meanwhile is kept in `events`.
  def call(method, session = nil, **params)
    number = @number += 1
    @out.write(JSON.generate({ id: number, method:, params:, sessionId: session }.compact), "\0")
    deadline = Skep::OS.now + SECONDS
    until (answer = take(number))
      read(deadline, method)
    end
    raise Failed, "#{method}: #{answer["error"]}" if answer["error"]

    answer["result"]
  end

  # Waits for an event; those that came before count.
  def happen(method)
    deadline = Skep::OS.now + SECONDS
    read(deadline, method) until (at = @events.index { |event| event["method"] == method })
    @events.delete_at(at)
  end

  def close
    @out.close
    @pidfd.wait(timeout: 3) || @pidfd.signal(:KILL, group: true)
    @pidfd.wait(timeout: SECONDS)
    [@pidfd, @in].each(&:close)
  end

  private

  def take(number)
    at = @events.index { |event| event["id"] == number }
    at && @events.delete_at(at)
  end

  def read(deadline, what)
    @in.wait_readable([deadline - Skep::OS.now, 0].max) or raise Failed, "#{what} takes too long"
    @buffer << @in.readpartial(1 << 20)
    while (message = @buffer.slice!(/\A[^\0]*\0/n))
      @events << JSON.parse(message.chomp("\0").force_encoding("UTF-8"))
    end
  rescue EOFError
    raise Failed, "the browser has ended"
  end

  # One tab.
  class Page
    KEYS = { "Tab" => 9, "Enter" => 13, "Escape" => 27 }.freeze
    private_constant :KEYS

    def initialize(browser, session)
      @browser = browser
      @session = session
    end

    def set_up(width, height, dark, scale)
      %w[Page Runtime Log Network].each { |domain| call("#{domain}.enable") }
      call("Emulation.setDeviceMetricsOverride", width:, height:, deviceScaleFactor: scale,
                                                 mobile: width < 600)
      call("Emulation.setEmulatedMedia",
           features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }])
    end

    def call(method, **params) = @browser.call(method, @session, **params)

    def visit(url)
      leave do
        error = call("Page.navigate", url:)["errorText"]
        raise Failed, "#{url}: #{error}" if error
      end
    end

    # What the block does leads to another page.
    def leave
      @browser.events.reject! { |event| event["method"] == "Page.loadEventFired" }
      yield
      @browser.happen("Page.loadEventFired")
    end

    def evaluate(script)
      answer = call("Runtime.evaluate", expression: script, awaitPromise: true, returnByValue: true)
      wrong = answer["exceptionDetails"]
      raise Failed, "#{script}: #{wrong.dig("exception", "description")}" if wrong

      answer.dig("result", "value")
    end

    # Looks whenever the document changes.
    def await(expression)
      evaluate(<<~SCRIPT)
        new Promise((done) => {
          const watch = new MutationObserver(() => look())
          const look = () => { if (#{expression}) { watch.disconnect(); done(true) } }
          watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
          look()
        })
      SCRIPT
    rescue Failed => e
      raise Failed, "#{expression}: #{e.message}; on the page: #{said}"
    end

    def text(selector) = evaluate("document.querySelector(#{selector.to_json})?.textContent")

    # A real click in its middle.
    def press(selector)
      x, y = middle(selector)
      %w[mousePressed mouseReleased].each do |type|
        call("Input.dispatchMouseEvent", type:, x:, y:, button: "left", clickCount: 1)
      end
    end

    def point(selector)
      x, y = middle(selector)
      call("Input.dispatchMouseEvent", type: "mouseMoved", x:, y:)
    end

    # "Enter", "Escape", …, to what has the focus.
    def key(name)
      %w[keyDown keyUp].each do |type|
        text = name == "Enter" && type == "keyDown" ? { text: "\r" } : {}
        call("Input.dispatchKeyEvent", type:, key: name, code: name,
                                       windowsVirtualKeyCode: KEYS.fetch(name), **text)
      end
    end

    def type(selector, text)
      evaluate("document.querySelector(#{selector.to_json}).focus()")
      call("Input.insertText", text:)
    end

    def picture(path, full: false)
      shot = call("Page.captureScreenshot", format: "png", captureBeyondViewport: full)
      File.binwrite(path, shot.fetch("data").unpack1("m"))
    end

    # What went wrong in it: refused by its policy, not found, thrown.
    def complaints
      @browser.events.select { |event| event["sessionId"] == @session }.filter_map do |event|
        case event["method"]
        when "Runtime.exceptionThrown"
          event.dig("params", "exceptionDetails", "exception", "description")
        when "Log.entryAdded"
          entry = event.dig("params", "entry")
          entry["text"] if entry["level"] == "error"
        end
      end
    end

    # Every address it has asked for.
    def requests
      sent = @browser.events.select { |event| event["method"] == "Network.requestWillBeSent" }
      sent.map { |event| event.dig("params", "request", "url") }
    end

    private

    def middle(selector)
      evaluate(<<~SCRIPT)
        (() => {
          const place = document.querySelector(#{selector.to_json})
          place.scrollIntoView({ block: "center", behavior: "instant" })
          const { left, top, width, height } = place.getBoundingClientRect()
          return [left + width / 2, top + height / 2]
        })()
      SCRIPT
    end

    def said = evaluate("document.body.innerText.slice(0, 600)").inspect
  end
end
