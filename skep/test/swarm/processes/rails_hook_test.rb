# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"

# When the gem skep-rails is loaded. A folder on the load path stands for it.
class RailsHookTest < Skep::TestCase
  HOOK = "Skep::Swarm::Processes::RailsHook"
  # Wraps a handler so that its calls can be seen.
  GEM = <<~RUBY
    rails = Object.new
    def rails.wrap(callable, _node) = ->(*given) { [:wrapped, callable.call(*given)] }
    def rails.run(source, node, handler) = source.run(node, wrap(handler, node))
    #{HOOK}.rails = rails
  RUBY
  SOURCE = <<~RUBY
    source = Object.new
    def source.errors = []
    def source.facts = {}
    def source.threads = 1
    def source.run(_node, handler) = p(handler.call(1))
  RUBY
  APPLICATION = <<~RUBY
    module Rails
      def self.application = :shop
    end
  RUBY
  private_constant :HOOK, :GEM, :SOURCE, :APPLICATION

  test "a source runs in the executor of an application that preload has loaded" do
    assert_equal "false\ntrue\n[:wrapped, 2]\n", run_with_gem(GEM, <<~RUBY)
      #{SOURCE}
      swarm = Skep.swarm("shop") do |swarm|
        swarm.preload { #{APPLICATION} }
        swarm.warm { p $LOADED_FEATURES.any? { |path| path.end_with?("skep/rails.rb") } }
        swarm.work(source) { |number, *| number + 1 }
      end
      p $LOADED_FEATURES.any? { |path| path.end_with?("skep/rails.rb") }
      swarm.__preload
      swarm.tasks.first.run(:node)
    RUBY
  end

  test "a source runs in the executor of an application that on_boot has loaded" do
    assert_equal "[:wrapped, 2]\n", run_with_gem(GEM, <<~RUBY)
      #{SOURCE}
      swarm = Skep.swarm("shop") { |swarm| swarm.work(source) { |number| number + 1 } }
      swarm.__preload
      #{APPLICATION}
      swarm.tasks.first.run(:node)
    RUBY
  end

  test "without an application a source runs as it is, though the gem is loaded" do
    assert_equal "2\n3\n", run_with_gem(GEM, <<~RUBY)
      #{SOURCE}
      require "skep/rails"
      module Rails
        def self.application = nil
      end
      swarm = Skep.swarm("shop") { |swarm| swarm.work(source) { |number| number + 1 } }
      swarm.tasks.first.run(:node)
      p #{HOOK}.wrap(->(number) { number + 1 }, :node).call(2)
    RUBY
  end

  test "without the gem there is a warning that names it, and the source runs as it is" do
    printed = run_with_gem(nil, <<~RUBY)
      #{SOURCE}
      #{APPLICATION}
      puts #{HOOK}.load
      Skep.swarm("shop") { |swarm| swarm.work(source) { |number| number + 1 } }
          .tasks.first.run(:node)
    RUBY
    assert_match(/\Athe Rails application is loaded, but not the gem skep-rails .*Gemfile\n2\n\z/,
                 printed)
  end

  test "an error in the gem's file is raised" do
    assert_equal "no/such/library\n", run_with_gem('require "no/such/library"', <<~RUBY)
      #{APPLICATION}
      begin
        #{HOOK}.load
      rescue LoadError => e
        puts e.path
      end
    RUBY
  end

  private

  # Returns what the program prints, with this file as skep/rails. It must not warn.
  def run_with_gem(file, program)
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p("#{folder}/skep")
      File.write("#{folder}/skep/rails.rb", file) if file
      libraries = [folder, File.expand_path("../../../lib", __dir__)]
      options = libraries.map { |path| "-I#{path}" }
      out, err, = run_command({ "RUBYOPT" => nil, "RUBYLIB" => nil }, RbConfig.ruby,
                              "--disable=gems", "-w", *options, "-e",
                              "require \"skep/swarm\"\n#{program}", timeout: 30)
      assert_empty err
      out
    end
  end
end
