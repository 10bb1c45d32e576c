# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"

# The registry of what other gems add. A swarm without their work loads none of their files.
class PluginTest < Skep::TestCase
  LIB = File.expand_path("../lib", __dir__)
  MAIL = <<~RUBY
    class MailPlugin < Skep::Plugin
      def events = %w[mail_bounced]
      def metrics = "gauge skep_mail_waiting{queue}\\n  Mails that wait.\\n"
      def collect(status, output) = output.add("skep_mail_waiting", 3, queue: status["name"])
      def lag(_status) = [3, "of the queue at home"]
      def status_lines(status, partitions:) = ["mails of \#{status["name"]}: 3, \#{partitions}"]
      def place(facts) = [facts["mail"] ? ["mail:\#{facts["mail"]}"] : [], facts.except("mail")]
      def advice = { source: "for mail: Mail.new" }
      def command
        Class.new(Skep::CLI::Command) do
          const_set(:SUMMARY, "Send mails")
          const_set(:USAGE, "skep mail")
          private define_method(:perform) { out.puts("sent") || 0 }
        end
      end
    end
    Skep::Plugin.add("mail", MailPlugin.new)
  RUBY
  STATUS = { "name" => "post", "works" => [{ "work" => 0, "kind" => "mail", "totals" => {} }],
             "nodes" => [{ "id" => 0, "work" => { "kind" => "mail" } },
                         { "id" => 1, "work" => { "kind" => "block" } },
                         { "id" => 2, "work" => {} }] }.freeze
  private_constant :LIB, :MAIL, :STATUS

  test "a plugin is loaded from the load path when its name is needed, without RubyGems" do
    assert_equal "[nil, MailPlugin, [MailPlugin]]\n", with_mail(<<~RUBY)
      found = [Skep::Plugin.find("post"), Skep::Plugin.find("mail").class]
      p [*found, Skep::Plugin.of(#{STATUS}).map(&:class)]
    RUBY
  end

  test "a name that is no file's name is never loaded" do
    assert_equal "[nil, nil, nil, nil]\n", with_mail(<<~RUBY)
      p ["../plugin/mail", "Mail", nil, 1].map { |name| Skep::Plugin.find(name) }
    RUBY
  end

  test "what can be no file's name isn't remembered either" do
    out, = run_program(<<~RUBY)
      require "skep/plugin"
      [{ "a" => "b" }, "x" * 99, "Mail", 7, "post"].each { |name| Skep::Plugin.find(name) }
      p Skep::Plugin.instance_variable_get(:@absent)
    RUBY
    assert_equal "[\"post\"]\n", out
  end

  test "an error in a plugin's file is raised" do
    in_folder("skep/plugin/mail.rb" => 'require "no/such/library"') do |lib|
      out, = run_program(<<~RUBY)
        $LOAD_PATH << #{lib.inspect}
        require "skep/plugin"
        begin
          Skep::Plugin.find("mail")
        rescue LoadError => e
          print e.path
        end
      RUBY
      assert_equal "no/such/library", out
    end
  end

  test "a plugin of an installed gem is found by its name, and by a search" do
    specification = <<~RUBY
      # stub: skep-mail 1.0 ruby lib
      Gem::Specification.new do |spec|
        spec.name, spec.version, spec.require_paths = "skep-mail", Gem::Version.new("1.0"), ["lib"]
        spec.installed_by_version = "3.3.0"
        spec.files = ["lib/skep/plugin/mail.rb"]
      end
    RUBY
    in_folder("specifications/skep-mail-1.0.gemspec" => specification,
              "gems/skep-mail-1.0/lib/skep/plugin/mail.rb" => MAIL) do |path|
      env = { "GEM_PATH" => path, "GEM_HOME" => path, "RUBYOPT" => nil, "RUBYLIB" => LIB }
      ['Skep::Plugin.find("mail").class', 'Skep::Plugin.all["mail"].class'].each do |code|
        program = ["-w", "-e", "require 'skep/plugin'; print #{code}"]
        out, err, = run_command(env, RbConfig.ruby, *program, timeout: 30)
        assert_equal "MailPlugin", out, err
      end
    end
  end

  test "log, metrics, commands and error messages have what a plugin adds" do
    assert_equal <<~TEXT, with_mail(<<~RUBY)
      true
      # HELP skep_mail_waiting Mails that wait.
      # TYPE skep_mail_waiting gauge
      skep_mail_waiting{queue="post"} 3
      [3, "of the queue at home"]
      [["mail:7"], {"error"=>1}]
      ["status", "top", "events", "kafka", "mail", "web"]
      sent
      true
    TEXT
      require "skep/cli"
      %w[definitions prometheus_text work_collector].each { |part| require "skep/metrics/\#{part}" }
      Skep::Plugin.find("mail")
      puts Skep::Log::EventCatalog.names.include?("mail_bounced")
      text = Skep::Metrics::PrometheusText.new
      Skep::Metrics::WorkCollector.new(text).collect(#{STATUS})
      puts text.to_s
      p Skep::Plugin.lag(#{STATUS})
      puts Skep::Plugin.place({ "mail" => 7, "error" => 1 }).inspect.gsub(" => ", "=>")
      p Skep::CLI.groups["Inspect"]
      Skep::CLI.start(%w[mail])
      puts Skep::Plugin.advice(:source).end_with?("; for mail: Mail.new")
    RUBY
  end

  test "a swarm of loops, and commands that ask for its state, load no file for Kafka" do
    swarm = <<~RUBY
      require_relative "probe"
      Skep.swarm "loops", nodes: 1, restart: :never do |swarm|
        swarm.preload { LOADED.call("mold") }
        swarm.work { |_node| LOADED.call("node") }
      end
    RUBY
    in_folder("swarm.rb" => swarm, "probe.rb" => <<~RUBY) do |folder|
      LOADED = lambda do |process|
        File.write("\#{__dir__}/\#{process}.loaded", $LOADED_FEATURES.grep(%r{/skep/.*kafka}).join(" "))
      end
    RUBY
      status = { **STATUS, "works" => [{ "kind" => "block" }], "state" => "running", "pid" => 7,
                 "uptime" => 1.0, "skep" => "1", "ruby" => "3",
                 "nodes" => [{ "id" => 0, "state" => "ready", "work" => { "kind" => "block" } }] }
      out, err, ended = run_program(<<~RUBY)
        require "#{folder}/probe"
        require "skep"
        require "skep/cli"
        require "skep/cli/swarm_command"
        require "skep/cli/swarm_list"
        require "skep/cli/top"
        status = #{status}
        Skep::CLI.command("status")
        puts Skep::CLI::SwarmList.new([["loops", status]], Skep::CLI::UI::Ansi.new(false))
        renderer = Skep::CLI::Top::Renderer.new(Skep::CLI::Top::Styler.new(color: false))
        puts renderer.plain(Skep::CLI::Top::Model.new(status), columns: 160)
        code = Skep::CLI.start(["run", "#{folder}/swarm.rb", "--control", "false"])
        LOADED.call("supervisor")
        exit(code)
      RUBY
      assert_predicate ended, :success?, out + err
      found = %w[supervisor mold node].to_h { |name| [name, File.read("#{folder}/#{name}.loaded")] }
      assert_equal({ "supervisor" => "", "mold" => "", "node" => "" }, found)
    end
  end

  test "the plugin for Kafka loads neither skep/kafka nor a client" do
    out, = run_program(<<~RUBY)
      require "skep/plugin"
      found = Skep::Plugin.of("nodes" => [{ "work" => { "kind" => "kafka" } }])
      p [found.map(&:class), Skep::Kafka.const_defined?(:Source), $LOADED_FEATURES.grep(/rdkafka/)]
    RUBY
    assert_equal "[[Skep::Kafka::Plugin], false, []]\n", out
  end

  private

  # Returns what a program prints that has the plugin for mails in its load path.
  def with_mail(program)
    in_folder("skep/plugin/mail.rb" => MAIL) do |lib|
      beginning = "$LOAD_PATH << #{lib.inspect}\nrequire 'skep/plugin'\n"
      out, err, status = run_program(beginning + program, env: { "RUBYOPT" => nil })
      assert_predicate status, :success?, err
      return out
    end
  end

  # Runs the block with the path of a folder that has these files.
  def in_folder(files)
    Dir.mktmpdir do |folder|
      files.each do |path, text|
        FileUtils.mkdir_p(File.dirname("#{folder}/#{path}"))
        File.write("#{folder}/#{path}", text)
      end
      yield folder
    end
  end
end
